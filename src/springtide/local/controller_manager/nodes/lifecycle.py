# SPDX-License-Identifier: Apache-2.0
"""Watches the heartbeats of nodes. A silent node becomes Unknown and is tainted, and its pods become not ready.

Heartbeats are changes of the node's Lease, or of the heartbeat time in its status for nodes without a Lease. The
scheduler and `taint_eviction` act on the taints (no new pods; eviction). A node with heartbeats again reports its
conditions itself; then the taints are removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

import msgspec

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Patch, Scope
from springtide.kube.resources import LEASES, NODES, PODS, Key, Obj
from springtide.local.controller_manager import conditions, views
from springtide.local.controller_manager.nodes.health import conditions_of, is_new, is_ready, plan
from springtide.local.controller_manager.nodes.heartbeats import Heartbeats, Patience
from springtide.local.controller_manager.nodes.taints import Disruption, disruption
from springtide.local.controller_manager.status_writes import write_status
from springtide.local.controller_manager.timestamps import stamp, utc_now

COMPONENT = "node-controller"
_NODE_LEASES = Scope("kube-node-lease")
_TICK = Key("", "")


class _LeaseSpec(msgspec.Struct, frozen=True, gc=False):
    renewTime: str = ""


class _Lease(msgspec.Struct, frozen=True, gc=False):
    spec: _LeaseSpec = _LeaseSpec()


class NodeLifecycle:
    def __init__(self, informers: Informers, client: Client, recorder: EventRecorder, patience: Patience) -> None:
        self._client, self._recorder, self._patience = client, recorder, patience
        self._monotonic: Callable[[], float] = time.monotonic
        self._heartbeats = Heartbeats(patience)
        self._known: dict[str, Obj] = {}
        """Nodes with a registration event, for the event when they are removed."""
        self._trouble = Disruption.NONE
        self._nodes = informers.of(NODES)
        self._leases = informers.of(LEASES, _NODE_LEASES, into=_Lease)
        self._pods = views.pods(informers)
        self.controller: Controller[Key] = Controller("node lifecycle", self._reconcile, workers=4)
        self.controller.watches(self._nodes)
        self.controller.reads(self._leases)
        self.controller.reads(self._pods)
        self._leases.on_change(self._hear)
        self._nodes.on_change(self._hear)
        self.controller.enqueue(_TICK)

    # Heartbeats

    def _hear(self, key: Key) -> None:
        """Handles the change of a node or of its Lease."""
        name = key.name
        node, lease = self._nodes.get(Key("", name)), self._leases.get(Key(_NODE_LEASES.namespace, name))
        if node is None:
            self._heartbeats.forget(name)
            return
        ready = conditions.find(conditions_of(node), "Ready") or {}
        sign = (node["metadata"]["uid"], ready.get("lastHeartbeatTime"), lease and lease.spec.renewTime)
        self._heartbeats.heard(name, sign, self._monotonic())

    def _is_silent(self, node: Obj) -> bool:
        return self._heartbeats.is_silent(node["metadata"]["name"], self._monotonic(), new=is_new(node))

    def _disruption(self) -> Disruption:
        return disruption(is_ready(node) and not self._is_silent(node) for node in self._nodes.objects())

    def _look(self) -> None:
        """Every tick: enqueues silent nodes, and all nodes when the extent of the disruption has changed."""
        self._heartbeats.look(self._monotonic())
        trouble = self._disruption()
        if trouble is not self._trouble:
            if self._trouble is Disruption.FULL:
                self._heartbeats.restart(self._monotonic())
            self._trouble = trouble
            for key in self._nodes:
                self.controller.enqueue(key)
        for node in self._nodes.objects():
            if self._is_silent(node):
                self.controller.enqueue(Key.of(node))

    # Acting

    async def _reconcile(self, key: Key) -> Result | None:
        if key == _TICK:
            self._look()
            return Result(self._patience.tick)
        node = self._nodes.get(key)
        self._greet(key.name, node)
        if node is not None:
            await self._keep(node, utc_now())
        return None

    def _greet(self, name: str, node: Obj | None) -> None:
        known = self._known.get(name)
        if known is not None and (node is None or node["metadata"]["uid"] != known["metadata"]["uid"]):
            del self._known[name]
            self._tell(known, "RemovingNode", f"Removing Node {name} from Controller")
        if node is not None and name not in self._known:
            self._known[name] = node
            self._tell(node, "RegisteredNode", f"Registered Node {name} in Controller")

    def _tell(self, node: Obj, reason: str, message: str) -> None:
        self._recorder.normal(node, reason, f"Node {node['metadata']['name']} event: {message}")

    async def _keep(self, node: Obj, now: datetime) -> None:
        decided = plan(node, self._is_silent(node), self._disruption(), now)
        if decided.conditions is not None:
            status = (node.get("status") or {}) | {"conditions": decided.conditions}
            node = await write_status(self._client, NODES, node, status)
        if decided.lost:
            name = node["metadata"]["name"]
            self._recorder.normal(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        if decided.taints is not None:
            metadata = {part: node["metadata"][part] for part in ("uid", "resourceVersion")}
            patch = {"metadata": metadata, "spec": {"taints": decided.taints}}
            await self._client.patch(NODES, Key.of(node), patch)
        if decided.pods_unready:
            for pod in self._pods.where(views.BY_NODE, node["metadata"]["name"]):
                if pod.ready:
                    await self._mark(pod, now)

    async def _mark(self, pod: views.PodView, now: datetime) -> None:
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": stamp(now)}
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        try:
            await self._client.patch(PODS, pod.key, patch, Patch.STRATEGIC, subresource="status")
        except NotFound:
            return
        self._recorder.warning(pod.reference, "NodeNotReady", "Node is not ready")


def controller(
    informers: Informers, client: Client, recorder: EventRecorder, patience: Patience | None = None
) -> Controller[Key]:
    return NodeLifecycle(informers, client, recorder, patience or Patience()).controller
