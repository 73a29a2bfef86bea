# SPDX-License-Identifier: Apache-2.0
"""Evicts pods from nodes whose NoExecute taints they do not tolerate, at once or after `tolerationSeconds`.

The time runs from when this controller first saw the pod on the tainted node, by the controller's own clock: suspending
the machine or restarting the server uses up no toleration. Messages are those of kube-controller-manager.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import NODES, PODS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.nodes.disruption_target import disrupted
from springtide.local.controller_manager.nodes.tolerations import FOREVER, evicting_taints, stay
from springtide.local.controller_manager.timestamps import utc_now

COMPONENT = "taint-eviction-controller"
_REASON, _MESSAGE = "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"
_EVENT = "TaintManagerEviction"


@dataclass(frozen=True, slots=True)
class _Stay:
    """A pod that must leave its node at some time."""

    uid: str
    since: float
    reference: dict[str, str]


class TaintEviction:
    def __init__(self, informers: Informers, client: Client, recorder: EventRecorder) -> None:
        self._client, self._recorder = client, recorder
        self._monotonic: Callable[[], float] = time.monotonic
        self._stays: dict[Key, _Stay] = {}
        self._tainted: dict[str, list[Obj]] = {}
        self._nodes = informers.of(NODES)
        self._pods = views.pods(informers)
        self.controller: Controller[Key] = Controller("taint eviction", self._reconcile, workers=8)
        self.controller.watches(self._pods, self._concerned)
        self.controller.reads(self._nodes)
        self._nodes.on_change(self._node_changed)

    def _node_changed(self, key: Key) -> None:
        """Reacts only to changes of evicting taints: nodes change with every report."""
        taints = evicting_taints(self._nodes.get(key))
        if taints == self._tainted.get(key.name, []):
            return
        if taints:
            self._tainted[key.name] = taints
        else:
            del self._tainted[key.name]
        for pod in self._pods.keys_where(views.BY_NODE, key.name):
            self.controller.enqueue(pod)

    def _concerned(self, pod: views.PodView) -> list[Key]:
        """Most nodes have no evicting taint: pods elsewhere need no reconcile."""
        return [pod.key] if pod.spec.node_name in self._tainted or pod.key in self._stays else []

    async def _reconcile(self, key: Key) -> Result | None:
        pod = self._pods.get(key)
        left = FOREVER if pod is None else self._left(pod)
        if left == FOREVER:
            self._release(key)
            return None
        assert pod is not None, "what is not there may stay for ever"
        if left > 0:
            return Result(left)
        self._stays.pop(key, None)
        await self._evict(pod)
        return None

    def _left(self, pod: views.PodView) -> float:
        """Seconds that the pod may still stay."""
        taints = self._tainted.get(pod.spec.node_name)
        if not taints or pod.metadata.deletion_timestamp is not None:
            return FOREVER
        allowed = stay(taints, pod.spec.tolerations)
        if allowed in (0, FOREVER):
            return allowed
        known = self._stays.get(pod.key)
        if known is None or known.uid != pod.uid:
            known = self._stays[pod.key] = _Stay(pod.uid, self._monotonic(), pod.reference)
        return max(0.0, known.since + allowed - self._monotonic())

    def _release(self, key: Key) -> None:
        known = self._stays.pop(key, None)
        if known is not None:
            self._recorder.normal(known.reference, _EVENT, f"Cancelling deletion of Pod {key}")

    async def _evict(self, pod: views.PodView) -> None:
        self._recorder.normal(pod.reference, _EVENT, f"Marking for deletion Pod {pod.key}")
        try:
            whole = await self._client.get(PODS, pod.key)
            if status := disrupted(whole, _REASON, _MESSAGE, utc_now()):
                patch = {"metadata": {"uid": pod.uid}, "status": status}
                await self._client.patch(PODS, pod.key, patch, Patch.STRATEGIC, subresource="status")
            await self._client.delete(PODS, pod.key, DeleteOptions(uid=pod.uid))
        except NotFound:
            return


def controller(informers: Informers, client: Client, recorder: EventRecorder) -> Controller[Key]:
    return TaintEviction(informers, client, recorder).controller
