# SPDX-License-Identifier: Apache-2.0
"""The scheduler's writes: bindings, conditions, evictions, claims. Each is idempotent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, Key, Obj
from springtide.local.scheduler.state.pods import DISRUPTION_TARGET, PREEMPTED, Pod
from springtide.local.scheduler.state.storage import VolumePlan
from springtide.local.scheduler.state.views import SELECTED_NODE, PodView

LONGEST_NOTE: Final = 1024
"""The maximum length of an event's message; a condition's is not truncated."""


class Writer:
    def __init__(self, client: Client, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._clock = clock
        self._recorders: dict[str, EventRecorder] = {}
        self._said: dict[str, str] = {}
        """By pod uid, the last reason reported in an event: only a changed reason is reported. The reason reported by
        an earlier scheduler is read from the pod.
        """

    def recorders(self, names: tuple[str, ...]) -> list[EventRecorder]:
        """One for each scheduler name, which is the reporter of its events."""
        self._recorders = {name: EventRecorder(self._client, name) for name in names}
        return list(self._recorders.values())

    async def bind(self, pod: Pod, node: str) -> None:
        metadata = {"namespace": pod.key.namespace, "name": pod.key.name, "uid": pod.uid}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding: Obj = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self._client.create(PODS, binding, on=pod.key, subresource="binding")
        self._said.pop(pod.uid, None)
        self._recorders[pod.scheduler].normal(pod.reference, "Scheduled", f"Successfully assigned {pod.key} to {node}")

    def forget(self, uid: str) -> None:
        self._said.pop(uid, None)

    async def report(self, pod: Pod, view: PodView, message: str, advice: str = "") -> None:
        """Reports why the pod is pending, the advice if any, and its promised node, if they have changed."""
        old = view.condition("PodScheduled")
        said = self._said.setdefault(pod.uid, old.message if old is not None and old.status == "False" else "")
        explained = f"{message.removesuffix('.')}. {advice}" if advice else message
        if said != explained:
            self._said[pod.uid] = explained
            note = message if len(message) <= LONGEST_NOTE else message[: LONGEST_NOTE - 4] + " ..."
            self._recorders[pod.scheduler].warning(pod.reference, "FailedScheduling", note)
            if advice:
                self._recorders[pod.scheduler].normal(pod.reference, "MissingResource", advice)
        same = old is not None and (old.status, old.reason, old.message) == ("False", "Unschedulable", explained)
        if same and view.status.nominated_node_name == pod.nominated:
            return
        condition: Obj = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": explained}
        condition["observedGeneration"] = view.metadata.generation
        if old is None or old.status != "False":
            condition["lastTransitionTime"] = self._now()
        status: Obj = {"conditions": [condition], "nominatedNodeName": pod.nominated or None}
        await self._patch_status(pod.key, {"metadata": {"uid": pod.uid}, "status": status})

    async def evict(self, victim: Pod, view: PodView, by: Pod, node: str) -> None:
        """Marks the victim as a disruption target, then deletes it with its own grace period."""
        condition = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": PREEMPTED,
            "message": f"{by.scheduler}: preempting to accommodate a higher priority pod",
            "observedGeneration": view.metadata.generation,
            "lastTransitionTime": self._now(),
        }
        old = view.condition(DISRUPTION_TARGET)
        try:
            if old is None or old.status != "True":
                body = {"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}}
                await self._patch_status(victim.key, body)
            await self._client.delete(PODS, victim.key, DeleteOptions(uid=victim.uid))
        except errors.NotFound:
            return
        self._recorders[by.scheduler].normal(victim.reference, "Preempted", f"Preempted by pod {by.uid} on node {node}")

    async def prepare_volumes(self, plan: VolumePlan, node: str) -> None:
        """Reserves volumes for their claims, and writes the chosen node for provisioners on the others."""
        for claim, volume in plan.bindings:
            reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": claim.metadata.uid}
            reference |= {"namespace": claim.metadata.namespace, "name": claim.metadata.name}
            marks = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
            body: Obj = {"metadata": marks, "spec": {"claimRef": reference}}
            await self._client.patch(PERSISTENTVOLUMES, Key("", volume.metadata.name), body)
        for claim in plan.provision:
            if claim.selected_node != node:
                body = {"metadata": {"uid": claim.metadata.uid, "annotations": {SELECTED_NODE: node}}}
                await self._client.patch(PERSISTENTVOLUMECLAIMS, claim.key, body)

    async def _patch_status(self, key: Key, body: Obj) -> None:
        # With the uid the patch fails for a later pod of the same name.
        await self._client.patch(PODS, key, body, Patch.STRATEGIC, subresource="status")

    def _now(self) -> str:
        return self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")
