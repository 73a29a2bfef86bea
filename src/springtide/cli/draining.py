# SPDX-License-Identifier: Apache-2.0
"""Emptying a node: no new pods, and those on it are evicted as far as disruption budgets allow.

As `kubectl drain` does it: a pod that nobody would make again is not evicted unless that is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from springtide.kube.errors import NotFound, TooManyRequests
from springtide.kube.request import Scope
from springtide.kube.resources import NODES, PODS, Key, Obj

if TYPE_CHECKING:
    from springtide.kube.client import Client

_LOOK_AGAIN = 0.3
Say = Callable[[str], None]


class DrainError(Exception):
    """The node is not empty; the message says what is on it and what can be done."""


@dataclass(frozen=True, slots=True)
class Terms:
    timeout: float = 0.0
    """Seconds until it is given up; 0 waits as long as it takes."""
    force: bool = False
    """Also evict pods that nobody makes again."""
    grace: int | None = None
    """Seconds for pods to end, instead of their own."""


async def cordon(client: Client, node: str, cordoned: bool = True) -> None:
    await client.patch(NODES, Key("", node), {"spec": {"unschedulable": cordoned or None}})


async def drain(client: Client, node: str, terms: Terms, say: Say) -> None:
    """Returns when no pod is left on the node, DrainError when that cannot be."""
    await cordon(client, node)
    pods = await pods_on(client, node)
    alone = unmanaged(pods)
    if alone and not terms.force:
        raise DrainError(
            f"nobody would make these pods again: {listed(alone)}\nEvict them nevertheless with --force, "
            f"or let the node take pods again: tide node uncordon {node}"
        )
    evictions = _Evictions(client, terms, say)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + terms.timeout if terms.timeout else float("inf")
    while pods:
        for pod in pods:
            await evictions.ask(pod)
        if loop.time() > deadline:
            raise DrainError(evictions.given_up(node, pods))
        await asyncio.sleep(_LOOK_AGAIN)
        pods = await pods_on(client, node)
        evictions.left(pods)


async def pods_on(client: Client, node: str) -> list[Obj]:
    return (await client.list(PODS, Scope(fields=f"spec.nodeName={node}"))).items


def unmanaged(pods: Iterable[Obj]) -> list[Obj]:
    """Those that have not ended and that no controller would replace."""
    return [pod for pod in pods if not _has_ended(pod) and not _is_managed(pod)]


def listed(pods: Iterable[Obj]) -> str:
    return ", ".join(sorted(str(Key.of(pod)) for pod in pods))


def _has_ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_managed(pod: Obj) -> bool:
    return any(owner.get("controller") for owner in pod["metadata"].get("ownerReferences") or ())


class _Evictions:
    """What was asked of which pod, so that every step is told once."""

    def __init__(self, client: Client, terms: Terms, say: Say) -> None:
        self._client, self._terms, self._say = client, terms, say
        self._evicted: dict[str, str] = {}
        """Names of pods on their way out, by uid."""
        self._refused: dict[str, str] = {}
        """Why pods may not go yet, by name."""

    async def ask(self, pod: Obj) -> None:
        key, uid = str(Key.of(pod)), pod["metadata"]["uid"]
        if uid in self._evicted:
            return
        try:
            await self._client.create(PODS, self._eviction(pod), on=Key.of(pod), subresource="eviction")
        except NotFound:
            return
        except TooManyRequests as error:
            if self._refused.get(key) != error.message:
                self._say(f"{key} must wait: {error.message}")
            self._refused[key] = error.message
            return
        self._refused.pop(key, None)
        self._evicted[uid] = key
        self._say(f"{key} is evicted")

    def left(self, pods: Iterable[Obj]) -> None:
        here = {pod["metadata"]["uid"] for pod in pods}
        for uid in [uid for uid in self._evicted if uid not in here]:
            self._say(f"{self._evicted.pop(uid)} is gone")

    def given_up(self, node: str, pods: Iterable[Obj]) -> str:
        reasons = "".join(f"\n  {key}: {why}" for key, why in sorted(self._refused.items()))
        return (
            f"node {node!r} still has pods: {listed(pods)}{reasons}\nIt takes no new ones. Go on with: tide node drain "
            f"{node}, or let it take pods again: tide node uncordon {node}"
        )

    def _eviction(self, pod: Obj) -> Obj:
        metadata = {name: pod["metadata"][name] for name in ("namespace", "name")}
        options: Obj = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        if self._terms.grace is not None:
            options["gracePeriodSeconds"] = self._terms.grace
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
