# SPDX-License-Identifier: Apache-2.0
"""Pods without a node agent: marked as failed, if they had not ended, and deleted by force.

These are pods bound to a node that does not exist; terminating pods that never got a node, or whose node is out of
service; and the oldest of the ended pods when there are too many. A node whose deletion this controller saw counts as
gone; an unknown node gets some time to appear. `choose` decides from plain data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import Conflict, NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import NODES, PODS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.nodes.disruption_target import disrupted
from springtide.local.controller_manager.nodes.health import is_ready
from springtide.local.controller_manager.nodes.taints import OUT_OF_SERVICE
from springtide.local.controller_manager.timestamps import utc_now
from springtide.local.controller_manager.views import PodView

COMPONENT = "pod-garbage-collector"
PERIOD = 20.0
QUARANTINE = 40.0
"""Seconds that an unknown node gets to appear."""
KEPT = 12_500
"""The number of ended pods to keep."""
_REASON, _MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"
_SWEEP = Key("", "")
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class LostWithNode(NamedTuple):
    pod: PodView
    orphan: bool = False
    """Whether its node is gone: the pod did not fail by itself."""


@dataclass(frozen=True, slots=True)
class Observed:
    pods: Collection[PodView]
    gone: Collection[str]
    """Names of nodes that do not exist."""
    out_of_service: Collection[str]
    """Names of nodes whose pods no longer run, as their administrator declared."""


def choose(observed: Observed, kept: int = KEPT) -> list[LostWithNode]:
    ended = sorted((pod for pod in observed.pods if _ended(pod)), key=_age)
    doomed = {pod.key: LostWithNode(pod) for pod in ended[: max(0, len(ended) - kept)]}
    for pod in observed.pods:
        deleting, node = pod.metadata.deletion_timestamp is not None, pod.spec.node_name
        if node and node in observed.gone:
            doomed[pod.key] = LostWithNode(pod, orphan=True)
        elif deleting and (not node or node in observed.out_of_service):
            doomed[pod.key] = LostWithNode(pod)
    return list(doomed.values())


def _ended(pod: PodView) -> bool:
    return pod.status.phase not in ("Pending", "Running", "Unknown")


def _age(pod: PodView) -> tuple[bool, datetime, str]:
    """Evicted pods first, then the oldest."""
    evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    return not evicted, pod.metadata.creation_timestamp or _EARLIEST, pod.metadata.name


class PodGarbage:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._client = client
        self._monotonic: Callable[[], float] = time.monotonic
        self._seen: set[str] = set()
        """Nodes that existed while this controller ran."""
        self._missing: dict[str, float] = {}
        """Unknown nodes that pods name, with the time since when they are missing."""
        self._nodes = informers.of(NODES)
        self._pods = views.pods(informers)
        self.controller: Controller[Key] = Controller("pod garbage", self._reconcile)
        self.controller.reads(self._nodes)
        self.controller.reads(self._pods)
        self._nodes.on_change(self._node_changed)
        self.controller.enqueue(_SWEEP)

    def _node_changed(self, key: Key) -> None:
        if key in self._nodes:
            self._seen.add(key.name)
        else:
            self.controller.enqueue(_SWEEP)

    async def _reconcile(self, _sweep: Key) -> Result | None:
        pods = self._pods.objects()
        observed = Observed(pods, await self._gone(pods), self._out_of_service())
        for doomed in choose(observed):
            await self._remove(doomed)
        return Result(PERIOD)

    async def _gone(self, pods: Iterable[PodView]) -> set[str]:
        named = {pod.spec.node_name for pod in pods if pod.spec.node_name}
        absent = {name for name in named if Key("", name) not in self._nodes}
        now = self._monotonic()
        self._missing = {name: self._missing.get(name, now) for name in absent}
        suspects = [name for name in absent if name in self._seen or now - self._missing[name] > QUARANTINE]
        # The cache may lag behind a new node, and a deleted pod cannot be restored: ask the server.
        return {name for name in suspects if await self._client.find(NODES, Key("", name)) is None}

    def _out_of_service(self) -> set[str]:
        return {node["metadata"]["name"] for node in self._nodes.objects() if _is_out_of_service(node)}

    async def _remove(self, doomed: LostWithNode) -> None:
        pod = doomed.pod
        try:
            if not pod.terminal:
                await self._mark_failed(doomed)
            await self._client.delete(PODS, pod.key, DeleteOptions(grace=0, uid=pod.uid))
        except (NotFound, Conflict):
            return  # deleted already, or another pod by now

    async def _mark_failed(self, doomed: LostWithNode) -> None:
        """Marks a pod as failed, because no node agent will report how it ended."""
        whole = await self._client.get(PODS, doomed.pod.key)
        status: Obj = {"phase": "Failed"}
        if generation := whole["metadata"].get("generation"):
            status["observedGeneration"] = generation
        if doomed.orphan:
            status |= disrupted(whole, _REASON, _MESSAGE, utc_now())
        patch = {"metadata": {"uid": doomed.pod.uid}, "status": status}
        await self._client.patch(PODS, doomed.pod.key, patch, Patch.STRATEGIC, subresource="status")


def _is_out_of_service(node: Obj) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return not is_ready(node) and any(taint["key"] == OUT_OF_SERVICE for taint in taints)


def controller(informers: Informers, client: Client, _recorder: EventRecorder) -> Controller[Key]:
    return PodGarbage(informers, client).controller
