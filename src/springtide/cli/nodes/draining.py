# SPDX-License-Identifier: Apache-2.0
"""Draining a node: cordons it and evicts its pods, as far as disruption budgets allow.

As with `kubectl drain`, a pod without a controller is evicted only on request. Jobs get notice first: an annotation
marks the node as drained, and workers of elastic jobs, which are replaced before they leave, are evicted only if they
are still there after a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from springtide.api.kinds.conditions import Condition, finished
from springtide.api.kinds.registry import RESOURCES
from springtide.api.kinds.replicas import WORKER
from springtide.api.mirror_pods import is_mirror
from springtide.controllers.leaving import DRAIN
from springtide.jobs.objects import JOB, KIND, ROLE
from springtide.kube.errors import NotFound, TooManyRequests
from springtide.kube.request import Scope
from springtide.kube.resources import NODES, PODS, Key, Obj, Resource
from springtide.messages import Text, text

if TYPE_CHECKING:
    from springtide.kube.client import Client

_LOOK_AGAIN = 0.3
_NOTICE = 60.0
"""Seconds for jobs to replace workers before these are evicted."""
Say = Callable[[Text], None]


class DrainError(Exception):
    """The node is not empty; the message lists its pods and the options."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.template)
        self.why = why


@dataclass(frozen=True, slots=True)
class Terms:
    command: Callable[[str], str]
    """The shell's command for `tide` with some words, on the same cluster."""
    timeout: float = 0.0
    """Seconds until the drain is given up; 0 means no limit."""
    force: bool = False
    """Also evict pods without a controller."""
    grace: int | None = None
    """A grace period in seconds that overrides the pods' own."""


async def cordon(client: Client, node: str, cordoned: bool = True) -> None:
    """Cordons or uncordons a node. Uncordoning also ends a drain."""
    mark = {} if cordoned else {"metadata": {"annotations": {DRAIN: None}}}
    await client.patch(NODES, Key("", node), {"spec": {"unschedulable": cordoned or None}, **mark})


async def _give_notice(client: Client, node: str) -> None:
    when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    await client.patch(NODES, Key("", node), {"metadata": {"annotations": {DRAIN: when}}})


async def drain(client: Client, node: str, terms: Terms, say: Say) -> None:
    """Returns when no pod is left on the node; DrainError when that is impossible."""
    await cordon(client, node)
    pods = await pods_on(client, node)
    alone = unmanaged(pods)
    if alone and not terms.force:
        raise DrainError(
            text(
                "no controller would create these pods again: {pods}\nEvict them nevertheless with --force, "
                "or let the node take pods again: {command}",
                pods=listed(alone),
                command=terms.command(f"node uncordon {node}"),
            )
        )
    await _give_notice(client, node)
    evictions = _Evictions(client, terms, say)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + terms.timeout if terms.timeout else float("inf")
    notice = loop.time() + _NOTICE
    while pods:
        moving = await _moved_by_their_jobs(client, pods) if loop.time() < notice else ()
        for pod in pods:
            if pod["metadata"]["uid"] in moving:
                evictions.leave(pod)
            else:
                await evictions.ask(pod)
        if loop.time() > deadline:
            raise DrainError(evictions.given_up(node, pods))
        await asyncio.sleep(_LOOK_AGAIN)
        pods = await pods_on(client, node)
        evictions.left(pods)


async def pods_on(client: Client, node: str) -> list[Obj]:
    """Without mirror pods: their processes run outside of pods, and they are created again when they are evicted."""
    found = (await client.list(PODS, Scope(fields=f"spec.nodeName={node}"))).items
    return [pod for pod in found if not is_mirror(pod)]


async def _moved_by_their_jobs(client: Client, pods: Iterable[Obj]) -> frozenset[str]:
    """Uids of workers of jobs that can be resized while they run: their operator replaces and releases them.

    A worker that has left the training has exited, and is deleted by its job a moment later.
    """
    found: dict[tuple[str, Key], bool] = {}
    moved = set()
    for pod in pods:
        labels = pod["metadata"].get("labels") or {}
        kind, role, key = labels.get(KIND, ""), labels.get(ROLE), Key(Key.of(pod).namespace, labels.get(JOB, ""))
        if role != WORKER or not key.name:
            continue
        if (kind, key) not in found:
            found[kind, key] = await _is_elastic(client, kind, key)
        if found[kind, key]:
            moved.add(pod["metadata"]["uid"])
    return frozenset(moved)


async def _is_elastic(client: Client, kind: str, key: Key) -> bool:
    definition = next((each for each in RESOURCES if each.kind == kind), None)
    if definition is None:
        return False
    job = await client.find(Resource(definition.group, definition.versions[-1].name, definition.plural, kind), key)
    status = (job or {}).get("status") or {}
    return status.get("minReplicas") is not None and not finished(_conditions(status))


def _conditions(status: Obj) -> list[Condition]:
    return [Condition(type=each["type"], status=each["status"]) for each in status.get("conditions") or ()]


def unmanaged(pods: Iterable[Obj]) -> list[Obj]:
    """Pods that have not ended and that no controller would replace."""
    return [pod for pod in pods if not _has_ended(pod) and not _is_managed(pod)]


def listed(pods: Iterable[Obj]) -> str:
    return ", ".join(sorted(str(Key.of(pod)) for pod in pods))


def _has_ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_managed(pod: Obj) -> bool:
    return any(owner.get("controller") for owner in pod["metadata"].get("ownerReferences") or ())


class _Evictions:
    """The evictions requested so far, so that every step is reported once."""

    def __init__(self, client: Client, terms: Terms, say: Say) -> None:
        self._client, self._terms, self._say = client, terms, say
        self._evicted: dict[str, str] = {}
        """Names of terminating pods, by uid."""
        self._left_to_jobs: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        """Why evictions are rejected, by pod name."""

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
                self._say(text("{pod} must wait: {why}", pod=key, why=error.message))
            self._refused[key] = error.message
            return
        self._refused.pop(key, None)
        self._left_to_jobs.pop(uid, None)
        self._evicted[uid] = key
        self._say(text("{pod} is evicted", pod=key))

    def leave(self, pod: Obj) -> None:
        """Leaves the pod to its job."""
        key, uid = str(Key.of(pod)), pod["metadata"]["uid"]
        if uid not in self._left_to_jobs:
            self._left_to_jobs[uid] = key
            self._say(text("{pod} is replaced by its job before it is deleted", pod=key))

    def left(self, pods: Iterable[Obj]) -> None:
        here = {pod["metadata"]["uid"] for pod in pods}
        for gone in (self._evicted, self._left_to_jobs):
            for uid in [uid for uid in gone if uid not in here]:
                self._say(text("{pod} is gone", pod=gone.pop(uid)))

    def given_up(self, node: str, pods: Iterable[Obj]) -> Text:
        reasons = "".join(f"\n  {key}: {why}" for key, why in sorted(self._refused.items()))
        again, free = (self._terms.command(f"node {what} {node}") for what in ("drain", "uncordon"))
        return text(
            "node {name!r} still has pods: {pods}{reasons}\nIt takes no new ones. Go on with: {again}, or let "
            "it take pods again: {free}",
            name=node,
            pods=listed(pods),
            reasons=reasons,
            again=again,
            free=free,
        )

    def _eviction(self, pod: Obj) -> Obj:
        metadata = {name: pod["metadata"][name] for name in ("namespace", "name")}
        options: Obj = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        if self._terms.grace is not None:
            options["gracePeriodSeconds"] = self._terms.grace
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
