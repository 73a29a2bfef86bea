# SPDX-License-Identifier: Apache-2.0
"""Claims, volumes and storage classes, and how they constrain a pod's node.

A bound claim ties its pods to the nodes of its volume. A claim with WaitForFirstConsumer is bound after a node was
chosen for its pod: to a suitable volume there, or by a provisioner that reads the node from an annotation. Any other
unbound claim keeps its pods pending.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from springtide.kube.resources import Key, Obj
from springtide.local.scheduler.state import amounts, requirements
from springtide.local.scheduler.state.long_selectors import LongSelectors
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.requirements import Labels
from springtide.local.scheduler.state.views import ClaimView, ClassView, VolumeView

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


@dataclass(slots=True)
class Storage:
    claims: dict[Key, ClaimView] = field(default_factory=dict)
    volumes: dict[str, VolumeView] = field(default_factory=dict)
    classes: dict[str, ClassView] = field(default_factory=dict)
    selectors: LongSelectors = field(default_factory=LongSelectors)
    """Of claims."""

    def waits_for_consumer(self, claim: ClaimView) -> bool:
        found = self.classes.get(claim.spec.storage_class_name)
        return found is not None and found.volume_binding_mode == "WaitForFirstConsumer"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """A pod's claims: bound, and to be bound with the pod's node."""

    bound: tuple[ClaimView, ...] = ()
    delayed: tuple[ClaimView, ...] = ()


class Unusable(Exception):
    """Why no node fits the pod, in kube-scheduler's wording."""


def claims_of(pod: Pod, storage: Storage) -> PodClaims:
    """Unusable when a claim is missing, lost, being deleted, or must be bound by another controller."""
    bound, delayed = [], []
    found = [_existing(pod, name, ephemeral, storage) for name, ephemeral in pod.claims]
    for claim in found:
        if claim.bound:
            bound.append(claim)
        elif not claim.spec.volume_name and storage.waits_for_consumer(claim):
            delayed.append(claim)
        else:
            raise Unusable("pod has unbound immediate PersistentVolumeClaims")
    return PodClaims(tuple(bound), tuple(delayed))


def _existing(pod: Pod, name: str, ephemeral: bool, storage: Storage) -> ClaimView:
    claim = storage.claims.get(Key(pod.key.namespace, name))
    if claim is None:
        if ephemeral:
            raise Unusable(f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"')
        raise Unusable(f'persistentvolumeclaim "{name}" not found')
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        raise Unusable(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"')
    if claim.metadata.deletion_timestamp is not None:
        raise Unusable(f'persistentvolumeclaim "{name}" is being deleted')
    return claim


def reachable(volume: VolumeView, name: str, labels: Labels) -> bool:
    """Whether the volume's node affinity allows a node."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    terms = requirements.node_terms(affinity.required.get("nodeSelectorTerms") or ())
    return any(term.matches(name, labels) for term in terms)


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """What must be written before a pod with delayed claims may be bound to its node."""

    bindings: tuple[tuple[ClaimView, VolumeView], ...] = ()
    provision: tuple[ClaimView, ...] = ()


NO_VOLUMES: Final = VolumePlan()


def plan(claims: Iterable[ClaimView], name: str, labels: Labels, storage: Storage) -> VolumePlan | None:
    """How the delayed claims can be satisfied on a node, or None."""
    bindings: list[tuple[ClaimView, VolumeView]] = []
    provision: list[ClaimView] = []
    taken: set[str] = set()
    for claim in sorted(claims, key=_wanted_size):
        if claim.selected_node:
            if claim.selected_node != name:
                return None
            provision.append(claim)
        elif (volume := _smallest(claim, name, labels, storage, taken)) is not None:
            taken.add(volume.metadata.name)
            bindings.append((claim, volume))
        else:
            provision.append(claim)
    if not all(_can_provision(claim, labels, storage) for claim in provision):
        return None
    return VolumePlan(tuple(bindings), tuple(provision))


def _wanted_size(claim: ClaimView) -> int:
    return amounts.read(claim.spec.resources.requests).get("storage", 0)


def _smallest(claim: ClaimView, name: str, labels: Labels, storage: Storage, taken: set[str]) -> VolumeView | None:
    suitable = [
        volume
        for volume in storage.volumes.values()
        if volume.metadata.name not in taken and _suits(volume, claim, storage) and reachable(volume, name, labels)
    ]
    # A volume reserved for this very claim is preferred.
    return min(suitable, key=lambda volume: (volume.spec.claim_ref is None, _size(volume)), default=None)


def _size(volume: VolumeView) -> int:
    return amounts.read(volume.spec.capacity).get("storage", 0)


def _suits(volume: VolumeView, claim: ClaimView, storage: Storage) -> bool:
    spec, wanted = volume.spec, claim.spec
    reference = spec.claim_ref
    if reference is not None:
        mine = (reference.namespace, reference.name) == claim.key and reference.uid in ("", claim.metadata.uid)
        if not mine:
            return False
    elif volume.status.phase != "Available":
        return False
    if volume.metadata.deletion_timestamp is not None or _size(volume) < _wanted_size(claim):
        return False
    if (spec.storage_class_name, spec.volume_mode) != (wanted.storage_class_name, wanted.volume_mode):
        return False
    if not set(wanted.access_modes) <= set(spec.access_modes):
        return False
    return wanted.selector is None or storage.selectors.of(claim.key, wanted.selector).matches(volume.metadata.labels)


def _can_provision(claim: ClaimView, labels: Labels, storage: Storage) -> bool:
    found = storage.classes.get(claim.spec.storage_class_name)
    if found is None or found.provisioner in ("", NO_PROVISIONER):
        return False
    return not found.allowed_topologies or any(_allows(term, labels) for term in found.allowed_topologies)


def _allows(term: Obj, labels: Labels) -> bool:
    expressions = term.get("matchLabelExpressions") or ()
    return all(labels.get(each.get("key", "")) in (each.get("values") or ()) for each in expressions)
