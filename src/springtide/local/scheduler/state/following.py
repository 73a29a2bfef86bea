# SPDX-License-Identifier: Apache-2.0
"""Applies watch events to the ledger and reports the effect of each change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

from springtide.api.mirror_pods import MIRROR
from springtide.kube.informer import Informer, Informers
from springtide.kube.resources import (
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    STORAGECLASSES,
    Key,
    Resource,
)
from springtide.local.scheduler.gangs import groups
from springtide.local.scheduler.gangs.groups import Group
from springtide.local.scheduler.state import views
from springtide.local.scheduler.state.ledger import Change, Ledger
from springtide.local.scheduler.state.storage import VolumePlan

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Listener(Protocol):
    """Receives the changes."""

    def changed(self, change: Change) -> None: ...

    def pod_changed(self, key: Key, view: views.PodView | None) -> None: ...

    def group_changed(self, key: Key) -> None: ...


def follow(informers: Informers, ledger: Ledger, listener: Listener) -> None:
    snapshot, storage = ledger.snapshot, ledger.snapshot.storage

    def on(resource: Resource, into: type[T], take_in: Callable[[Key, T | None], Change]) -> None:
        informer: Informer[T] = informers.of(resource, into=into)
        informer.on_change(lambda key: listener.changed(take_in(key, informer.get(key))))

    def on_groups(resource: Resource) -> None:
        def take_in(key: Key, view: views.GroupView | None) -> Change:
            listener.group_changed(key)
            return ledger.group_changed(resource.group, key, None if view is None else Group(resource, view))

        on(resource, views.GroupView, take_in)

    def on_budget(key: Key, view: views.BudgetView | None) -> Change:
        _keep(snapshot.budgets, key, view)
        return Change.NOTHING  # no pod fits because of a budget; only victims may differ

    pods = informers.of(PODS, into=views.PodView)
    pods.on_change(lambda key: listener.pod_changed(key, _scheduled(pods.get(key))))
    on(NODES, views.NodeView, lambda key, view: ledger.node_changed(key.name, view))
    on(NAMESPACES, views.NamespaceView, lambda key, view: ledger.namespace_changed(key.name, view))
    on(PERSISTENTVOLUMES, views.VolumeView, lambda key, view: _keep(storage.volumes, key.name, view))
    on(PERSISTENTVOLUMECLAIMS, views.ClaimView, lambda key, view: _keep(storage.claims, key, view))
    on(STORAGECLASSES, views.ClassView, lambda key, view: _keep(storage.classes, key.name, view))
    on(PRIORITYCLASSES, views.PriorityClassView, lambda key, view: ledger.priority_changed(key.name, view))
    on(PODDISRUPTIONBUDGETS, views.BudgetView, on_budget)
    on(groups.QUEUES, views.QueueView, lambda key, view: ledger.queue_changed(key.name, view))
    on_groups(groups.VOLCANO_GROUPS)
    on_groups(groups.PLUGIN_GROUPS)


def _scheduled(pod: views.PodView | None) -> views.PodView | None:
    """Mirror pods take no room on a node, and none is a victim of preemption: their processes run without them."""
    return None if pod is None or MIRROR in (pod.metadata.annotations or {}) else pod


def reread(informers: Informers, ledger: Ledger, plan: VolumePlan) -> None:
    """Resets the volumes and claims of a failed plan to what the watches show."""
    storage = ledger.snapshot.storage
    volumes = informers.of(PERSISTENTVOLUMES, into=views.VolumeView)
    claims = informers.of(PERSISTENTVOLUMECLAIMS, into=views.ClaimView)
    for _, volume in plan.bindings:
        _keep(storage.volumes, volume.metadata.name, volumes.get(Key("", volume.metadata.name)))
    for claim in plan.provision:
        _keep(storage.claims, claim.key, claims.get(claim.key))


def _keep(where: dict[K, T], key: K, view: T | None) -> Change:
    if view is None:
        where.pop(key, None)
    else:
        where[key] = view
    return Change.CAPACITY
