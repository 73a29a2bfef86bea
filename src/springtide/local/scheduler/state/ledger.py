# SPDX-License-Identifier: Apache-2.0
"""The watched state, plus decisions that the watches do not show yet.

A decision appears in the watch a few milliseconds later; meanwhile the next pods are placed. The ledger therefore
records pods *assumed* on a node, nodes *promised* to a pod, and *condemned* victims. Each record is removed when the
watch shows it or the write failed. The ledger does no I/O; the scheduler feeds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Flag, auto

import msgspec

from springtide.kube.resources import Key
from springtide.local.scheduler.gangs import groups
from springtide.local.scheduler.gangs.gangs import Gang, Queue
from springtide.local.scheduler.gangs.groups import PLUGIN_GROUPS, VOLCANO_GROUPS, Group
from springtide.local.scheduler.state import amounts, nodes, pods, storage
from springtide.local.scheduler.state.pods import Pod, Wishes
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.storage import VolumePlan
from springtide.local.scheduler.state.views import (
    SELECTED_NODE,
    ClaimRef,
    NamespaceView,
    NodeView,
    PodView,
    PriorityClassView,
    QueueView,
)


class Change(Flag):
    """The effect of a change on waiting units."""

    NOTHING = 0
    CAPACITY = auto()
    """There may be room, or another node, where there was none."""
    OTHER_PODS = auto()
    """Only units whose placement depends on other pods need a retry."""
    ITSELF = auto()
    """The pod itself is due."""


@dataclass(slots=True)
class Ledger:
    snapshot: Snapshot
    schedulers: frozenset[str]
    pods: dict[Key, Pod] = field(default_factory=dict)
    groups: dict[tuple[str, Key], Group] = field(default_factory=dict)
    queues: dict[str, QueueView] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    _views: dict[Key, PodView] = field(default_factory=dict)
    _members: dict[Key, set[Key]] = field(default_factory=dict)
    _assumed: dict[str, str] = field(default_factory=dict)
    _promised: dict[str, str] = field(default_factory=dict)
    _condemned: set[str] = field(default_factory=set)

    # Watched state

    def node_changed(self, name: str, view: NodeView | None) -> Change:
        if view is None:
            self.snapshot.drop_node(name)
            return Change.CAPACITY  # spread and affinity are counted over the remaining nodes
        return Change.CAPACITY if self.snapshot.put_node(nodes.from_view(view)) else Change.NOTHING

    def pod_changed(self, key: Key, view: PodView | None, wishes: Wishes | None = None) -> Change:
        """`wishes` are those of the view, if they were read already."""
        old, old_view = self.pods.get(key), self._views.pop(key, None)
        held = old is not None and bool(self.snapshot.where(old.uid))
        if old is not None:
            self._strike(old)
        if view is None:
            if old is not None:
                self._forget_all(old.uid)
            return Change.CAPACITY if held else Change.NOTHING
        if wishes is None and old is not None and old_view is not None and pods.same_wishes(old_view, view):
            wishes = old.wishes
        pod = pods.from_view(view, wishes)
        if old is not None and old.uid != pod.uid:
            self._forget_all(old.uid)
        self._settle(pod)
        pod = self._as_decided(pod)
        self._views[key] = view
        self._enter(pod)
        return self._meaning(old, pod, old_view, view)

    def _settle(self, pod: Pod) -> None:
        """Drops the records that the watch now shows."""
        if pod.node or pod.finished:
            self._assumed.pop(pod.uid, None)
            self._promised.pop(pod.uid, None)
        elif self._promised.get(pod.uid) == pod.nominated:
            del self._promised[pod.uid]
        if pod.deleting:
            self._condemned.discard(pod.uid)

    def _as_decided(self, pod: Pod) -> Pod:
        if pod.uid in self._promised:
            pod = replace(pod, nominated=self._promised[pod.uid])
        if pod.uid in self._condemned:
            pod = replace(pod, deleting=True, preempted=True)
        return pod

    def _enter(self, pod: Pod) -> None:
        self.pods[pod.key] = pod
        node = pod.node or self._assumed.get(pod.uid, "")
        if node and not pod.finished:
            self.snapshot.add(pod, node)
        elif pod.nominated and pod.waiting:
            self.snapshot.promise(pod, pod.nominated)
        if pod.group:
            self._members.setdefault(Key(pod.key.namespace, pod.group), set()).add(pod.key)

    def _strike(self, pod: Pod) -> None:
        del self.pods[pod.key]
        if self.snapshot.where(pod.uid):
            self.snapshot.remove(pod)
        self.snapshot.release(pod.uid)
        if pod.group:
            members = self._members[Key(pod.key.namespace, pod.group)]
            members.discard(pod.key)
            if not members:
                del self._members[Key(pod.key.namespace, pod.group)]

    def _forget_all(self, uid: str) -> None:
        self._assumed.pop(uid, None)
        self._promised.pop(uid, None)
        self._condemned.discard(uid)

    def _meaning(self, old: Pod | None, pod: Pod, old_view: PodView | None, view: PodView) -> Change:
        change = Change.NOTHING
        if old is not None and old.node and (pod.finished and not old.finished):
            change |= Change.CAPACITY
        same_labels = old is not None and old.labels == pod.labels
        if pod.node and not (old is not None and old.node and same_labels):
            change |= Change.OTHER_PODS
        if self.is_ours(pod):
            same = old_view is not None and old_view.spec == view.spec and same_labels
            change |= Change.NOTHING if same else Change.ITSELF
        return change

    def is_ours(self, pod: Pod) -> bool:
        """Whether the pod waits for this scheduler."""
        return pod.waiting and pod.scheduler in self.schedulers and not self._assumed.get(pod.uid)

    def view(self, key: Key) -> PodView | None:
        return self._views.get(key)

    def namespace_changed(self, name: str, view: NamespaceView | None) -> Change:
        known = self.snapshot.namespaces
        labels = None if view is None else view.metadata.labels or {}
        if labels == known.get(name):
            return Change.NOTHING
        known.pop(name, None)
        if labels is not None:
            known[name] = labels
        return Change.OTHER_PODS

    def priority_changed(self, name: str, view: PriorityClassView | None) -> Change:
        self.priorities.pop(name, None)
        if view is not None:
            self.priorities[name] = view.value
        return Change.NOTHING

    # Decisions

    def assume(self, pod: Pod, node: str) -> None:
        self._assumed[pod.uid] = node
        self._move(pod)

    def forget(self, pod: Pod) -> None:
        """Removes the pod from its assumed node, unless the watch shows it there by now."""
        if self._assumed.pop(pod.uid, None):
            self._move(pod)

    def _move(self, pod: Pod) -> None:
        current = self.pods.get(pod.key)
        if current is not None and current.uid == pod.uid:
            self._strike(current)
            self._enter(current)

    def promise(self, pod: Pod, node: str) -> Pod:
        """An empty node withdraws the promise. Returns the updated pod."""
        self._promised[pod.uid] = node
        return self._again(pod)

    def condemn(self, victim: Pod) -> None:
        self._condemned.add(victim.uid)
        self._again(victim)

    def pardon(self, victim: Pod) -> None:
        """Undoes `condemn` after a failed eviction."""
        self._condemned.discard(victim.uid)
        self._again(victim)

    def _again(self, pod: Pod) -> Pod:
        """Re-enters the pod with the current decisions about it."""
        current = self.pods.get(pod.key)
        view = self._views.get(pod.key)
        if current is None or view is None or current.uid != pod.uid:
            return pod
        self._strike(current)
        fresh = self._as_decided(pods.from_view(view, current.wishes))
        self._enter(fresh)
        return fresh

    def volumes_for(self, pod: Pod, node: str) -> VolumePlan | None:
        """What must be written about the pod's volumes first; None if they can no longer be satisfied."""
        state = self.snapshot.node(node)
        if not pod.claims or state is None:
            return storage.NO_VOLUMES
        claims = storage.claims_of(pod, self.snapshot.storage)
        return storage.plan(claims.delayed, node, state.node.labels, self.snapshot.storage)

    def assume_volumes(self, plan: VolumePlan, node: str) -> None:
        """Keeps other pods from using the same volume before the watch shows its claim."""
        known = self.snapshot.storage
        for claim, volume in plan.bindings:
            reference = ClaimRef(claim.metadata.namespace, claim.metadata.name, claim.metadata.uid)
            spec = msgspec.structs.replace(volume.spec, claim_ref=reference)
            known.volumes[volume.metadata.name] = msgspec.structs.replace(volume, spec=spec)
        for claim in plan.provision:
            annotations = (claim.metadata.annotations or {}) | {SELECTED_NODE: node}
            metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
            known.claims[claim.key] = msgspec.structs.replace(claim, metadata=metadata)

    # Gangs

    def group_changed(self, resource_group: str, key: Key, group: Group | None) -> Change:
        if group is None:
            self.groups.pop((resource_group, key), None)
        else:
            old = self.groups.get((resource_group, key))
            self.groups[resource_group, key] = group
            if old is not None and old.view.spec == group.view.spec:
                return Change.NOTHING
        return Change.CAPACITY

    def group_of(self, key: Key) -> Group | None:
        """The PodGroup that members name; Volcano's if both APIs have one of that name."""
        return self.groups.get((VOLCANO_GROUPS.group, key)) or self.groups.get((PLUGIN_GROUPS.group, key))

    def members(self, key: Key) -> list[Pod]:
        return [self.pods[member] for member in sorted(self._members.get(key, ()))]

    def gang(self, group: Group) -> Gang:
        queue = self._queue(group.queue) if group.queue else None
        gang = groups.gang(group, self.members(group.key), queue, self.priorities)
        return replace(gang, schedulers=self.schedulers)

    def queue_changed(self, name: str, view: QueueView | None) -> Change:
        old = self.queues.pop(name, None)
        if view is not None:
            self.queues[name] = view
            if old is not None and old.spec == view.spec:
                return Change.NOTHING
        return Change.CAPACITY

    def _queue(self, name: str) -> Queue:
        view = self.queues.get(name)
        if view is None:
            return Queue(name, exists=False)
        capability = amounts.read(view.spec.capability)
        used = amounts.summed(pod.requests for pod in self._held_by_queue(name)) if capability else {}
        return Queue(name, view.spec.weight, capability, used)

    def _held_by_queue(self, name: str) -> Iterable[Pod]:
        for group in self.groups.values():
            if group.queue == name:
                yield from (pod for pod in self.members(group.key) if self.snapshot.where(pod.uid))
