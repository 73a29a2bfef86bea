# SPDX-License-Identifier: Apache-2.0
"""Planning of a deployment's replica sets: rolling updates, re-creation and scaling. Pure.

A deployment owns one replica set per pod template it ever had. The one whose template equals the deployment's is *new*,
all others are *old*. `plan` decides their sizes and annotations, whether to create the new one, which old ones to
delete, and the deployment's status. Each round takes one step (up, or down); the status changes of the replica sets
cause the next round. Called by `deployments`; does no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from springtide.kube.resources import DEPLOYMENTS, REPLICASETS, Key, Obj
from springtide.local.controller_manager.selection.ownership import reference
from springtide.local.controller_manager.workloads import rollout_status as report
from springtide.local.controller_manager.workloads.rollout_sets import (
    DESIRED_REPLICAS,
    HASH_LABEL,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    ReplicaSet,
    desired_replicas,
    max_replicas,
    revision_of,
    same_template,
    template_hash,
    total,
    with_revision,
)
from springtide.local.controller_manager.workloads.rollout_terms import Terms

_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class Observed:
    deployment: Obj
    replica_sets: tuple[Obj, ...] = ()
    running_pods: frozenset[str] = frozenset()
    """Uids of replica sets that still have an unfinished pod."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one existing replica set."""

    replica_set: Obj
    size: int
    annotations: dict[str, str] = field(default_factory=dict)
    min_ready_seconds: int | None = None

    @property
    def patch(self) -> Obj:
        spec: Obj = {}
        if self.size != self.replica_set["spec"]["replicas"]:
            spec["replicas"] = self.size
        if self.min_ready_seconds is not None:
            spec["minReadySeconds"] = self.min_ready_seconds
        metadata = {"annotations": self.annotations} if self.annotations else {}
        return {name: value for name, value in (("metadata", metadata), ("spec", spec)) if value}


@dataclass(frozen=True, slots=True)
class Plan:
    create: Obj | None = None
    changes: tuple[Change, ...] = ()
    forget: tuple[Obj, ...] = ()
    revision: str = ""
    status: Obj = field(default_factory=dict)
    look_again: float | None = None


def plan(observed: Observed, now: datetime) -> Plan:
    rollout = _Rollout(observed, now)
    deployment = observed.deployment
    if "deletionTimestamp" in deployment["metadata"]:
        return rollout.finish(estimate=False)
    rollout.note_pause()
    if deployment["spec"].get("paused"):
        rollout.adopt_annotations()
        rollout.scale()
        rollout.forget_history()
        return rollout.finish(estimate=False)
    if rollout.was_scaled():
        rollout.adopt_annotations()
        rollout.scale()
        return rollout.finish(estimate=False)
    if rollout.terms.rolling:
        rollout.roll()
    else:
        rollout.recreate()
    return rollout.finish(estimate=True)


class _Rollout:
    """One round of planning: the observed state, and the decisions so far."""

    def __init__(self, observed: Observed, now: datetime) -> None:
        self.observed, self.now = observed, now
        self.deployment = observed.deployment
        self.terms = Terms.of(self.deployment)
        self.conditions: list[Obj] = list(self.deployment.get("status", {}).get("conditions") or ())
        sets = sorted((ReplicaSet.of(obj) for obj in observed.replica_sets), key=ReplicaSet.age)
        template = self.deployment["spec"]["template"]
        self.new = next((known for known in sets if same_template(known.obj["spec"]["template"], template)), None)
        self.old = [known for known in sets if known is not self.new]
        self.create: Obj | None = None
        self.forget: list[Obj] = []
        self.revision = ""

    @property
    def all(self) -> list[ReplicaSet]:
        return self.old if self.new is None else [*self.old, self.new]

    # Revisions

    def note_pause(self) -> None:
        self.conditions = report.with_pause(self.conditions, self.terms, self.now)

    def adopt_annotations(self) -> None:
        """Sets the revision and the deployment's annotations on the new replica set, if it exists."""
        if self.new is None:
            return
        wanted = self._annotations(self.new.obj["metadata"].get("annotations") or {})
        self.new.annotations |= wanted
        self.revision = wanted.get(REVISION, "") or self.new.annotation(REVISION)
        self.conditions = report.with_found(self.conditions, self.terms, self.new.name, self.now)

    def _annotations(self, present: dict[str, str]) -> dict[str, str]:
        given = self.deployment["metadata"].get("annotations") or {}
        wanted = {name: value for name, value in given.items() if name not in _NOT_COPIED}
        wanted |= with_revision(present, max((revision_of(old.obj) for old in self.old), default=0) + 1)
        return {name: value for name, value in wanted.items() if present.get(name) != value}

    def ensure_new(self) -> None:
        if self.new is not None:
            self.adopt_annotations()
            return
        collisions = self.deployment.get("status", {}).get("collisionCount")
        made = _new_replica_set(self.deployment, template_hash(self.deployment["spec"]["template"], collisions))
        annotations = self._annotations({}) | self._size_annotations()
        size = self._new_size(0, total(self.old))
        made["metadata"]["annotations"], made["spec"]["replicas"] = annotations, size
        self.create, self.new = made, ReplicaSet.of(made)
        self.revision = annotations[REVISION]
        self.conditions = report.with_created(self.conditions, self.terms, self.new.name, self.now)

    def _size_annotations(self) -> dict[str, str]:
        return {
            DESIRED_REPLICAS: str(self.terms.replicas),
            MAX_REPLICAS: str(self.terms.replicas + self.terms.max_surge),
        }

    # Sizes

    def _new_size(self, current: int, everything: int) -> int:
        """The size to which the new replica set may grow within maxSurge."""
        if not self.terms.rolling:
            return self.terms.replicas
        room = self.terms.replicas + self.terms.max_surge - everything
        return current if room <= 0 else current + min(room, self.terms.replicas - current)

    def _resize(self, one: ReplicaSet, size: int, *, annotate: bool = False) -> bool:
        """Sets a size; True if it differs. The annotations are updated along with it, or on request."""
        differs = one.size != size
        if differs or annotate:
            one.size = size
            one.annotate(self._size_annotations())
        return differs

    def roll(self) -> None:
        self.ensure_new()
        assert self.new is not None
        if self._resize_new(self.new) or self._shrink_old(self.new):
            return
        if report.complete(self.terms, self.deployment.get("status", {})):
            self.forget_history()

    def _resize_new(self, new: ReplicaSet) -> bool:
        if new.size > self.terms.replicas:
            return self._resize(new, self.terms.replicas)
        return self._resize(new, self._new_size(new.size, total(self.all)))

    def _shrink_old(self, new: ReplicaSet) -> bool:
        """Scales in old replica sets within maxUnavailable: unavailable pods first."""
        old = [known for known in self.old if known.size]
        floor = self.terms.replicas - self.terms.max_unavailable
        spare = total(self.all) - floor - (new.size - new.available)
        if not old or spare <= 0:
            return False
        shrunk = 0
        for known in old:
            broken = min(spare - shrunk, known.size - known.available)
            if broken > 0:
                self._resize(known, known.size - broken)
                shrunk += broken
        spare = sum(known.available for known in [*old, new]) - floor
        for known in old:
            cut = min(known.size, spare)
            if cut > 0:
                self._resize(known, known.size - cut)
                spare -= cut
                shrunk += cut
        return shrunk > 0

    def recreate(self) -> None:
        """Deletes all old pods before the first new pod is created."""
        self.adopt_annotations()
        shrunk = [known for known in self.old if self._resize(known, 0)]
        if shrunk or self._old_pods_run():
            return
        self.ensure_new()
        assert self.new is not None
        self._resize(self.new, self.terms.replicas)
        if report.complete(self.terms, self.deployment.get("status", {})):
            self.forget_history()

    def _old_pods_run(self) -> bool:
        new = "" if self.new is None else self.new.uid
        return any(known.replicas for known in self.old) or bool(self.observed.running_pods - {new})

    # Scaling in the middle of a rollout

    def was_scaled(self) -> bool:
        wanted = self.terms.replicas
        return any(desired_replicas(known.obj) not in (None, wanted) for known in self.all if known.size)

    def scale(self) -> None:
        """Scales all replica sets in proportion during a rollout; otherwise only the one in use."""
        active = [known for known in self.all if known.size]
        if len(active) <= 1:
            target = active[0] if active else self.new or (self.old[-1] if self.old else None)
            if target is not None:
                self._resize(target, self.terms.replicas)
        elif self.new is not None and self.terms.saturated(self.new):
            for known in self.old:
                self._resize(known, 0)
        elif self.terms.rolling:
            self._scale_in_proportion(active)

    def _scale_in_proportion(self, active: list[ReplicaSet]) -> None:
        allowed = self.terms.replicas + self.terms.max_surge if self.terms.replicas else 0
        to_add = allowed - total(active)
        # At equal size: when scaling out the newer one first, when scaling in the older one.
        active = sorted(active, key=ReplicaSet.age, reverse=to_add > 0)
        active.sort(key=lambda known: known.size, reverse=True)
        sizes = {known.name: known.size for known in active}
        added = 0
        for known in active:
            share = self._share(known, to_add, added)
            sizes[known.name] += share
            added += share
        largest = active[0].name
        sizes[largest] = max(0, sizes[largest] + to_add - added)
        for known in active:
            self._resize(known, sizes[known.name], annotate=True)

    def _share(self, known: ReplicaSet, to_add: int, added: int) -> int:
        if to_add in (0, added):
            return 0
        share = self._fraction(known)
        return min(share, to_add - added) if to_add > 0 else max(share, to_add - added)

    def _fraction(self, known: ReplicaSet) -> int:
        if not self.terms.replicas:
            return -known.size
        before = max_replicas(known.obj) or self.deployment.get("status", {}).get("replicas", 0)
        if not before:
            return 0
        return _rounded(known.size * (self.terms.replicas + self.terms.max_surge) / before) - known.size

    # History

    def forget_history(self) -> None:
        """Deletes the oldest unused replica sets beyond `revisionHistoryLimit`."""
        limit = self.terms.history_limit
        kept = [known for known in self.old if "deletionTimestamp" not in known.obj["metadata"]]
        surplus = 0 if limit is None else len(kept) - limit
        kept.sort(key=lambda known: (revision_of(known.obj), *known.age()))
        self.forget = [known.obj for known in kept[: max(0, surplus)] if known.idle]

    # Result

    def finish(self, *, estimate: bool) -> Plan:
        observed = [ReplicaSet.of(known.obj) for known in self.all]
        new = None if self.new is None else ReplicaSet.of(self.new.obj)
        found = report.status(self.deployment, observed, new, self.conditions, self.now)
        look_again = None
        if estimate:
            found, look_again = report.with_progress(self.deployment, found, observed, new, self.now)
        return Plan(
            self.create,
            tuple(self._changes()),
            tuple(self.forget),
            self.revision,
            report.shown(found),
            look_again,
        )

    def _changes(self) -> Sequence[Change]:
        changes = []
        for known in self.all:
            if known.obj is self.create:
                continue
            ready = known.obj["spec"].get("minReadySeconds", 0)
            differs = known is self.new and ready != self.terms.min_ready_seconds
            change = Change(known.obj, known.size, known.annotations, self.terms.min_ready_seconds if differs else None)
            if change.patch:
                changes.append(change)
        return changes


def _new_replica_set(deployment: Obj, code: str) -> Obj:
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = dict(spec["template"])
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: code}
    template["metadata"] = {**(template.get("metadata") or {}), "labels": labels}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH_LABEL: code}}
    name = f"{metadata['name'][: _LONGEST_NAME - 1 - len(code)]}-{code}"
    made = REPLICASETS.describe(Key(metadata["namespace"], name))
    made["metadata"] |= {"labels": labels, "ownerReferences": [reference(DEPLOYMENTS, deployment)]}
    made["spec"] = {"replicas": 0, "selector": selector, "template": template}
    if ready := spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = ready
    return made


def collided(deployment: Obj) -> Obj:
    """The status after the name was taken by a replica set of another template: the next hash differs."""
    before = deployment.get("status") or {}
    return {**before, "collisionCount": before.get("collisionCount", 0) + 1}


def failed_to_create(deployment: Obj, message: str, now: datetime) -> Obj:
    """The status after the creation of the new replica set failed."""
    before = deployment.get("status") or {}
    found = report.with_failed_creation(list(before.get("conditions") or ()), Terms.of(deployment), message, now)
    return {**before, "conditions": found} if found else before


def _rounded(number: float) -> int:
    """Rounds halves away from zero."""
    return int(number + 0.5) if number >= 0 else int(number - 0.5)
