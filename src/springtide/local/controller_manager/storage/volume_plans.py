# SPDX-License-Identifier: Apache-2.0
"""Decisions about a claim and about a volume, made here from plain data, carried out in `volume_binding`.

A claim is Pending until it is bound, and Lost when its volume is gone; a volume is Available, then Bound, then Released
when its claim is deleted. Reasons and messages are those of kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from springtide.kube.resources import Obj
from springtide.local.controller_manager.storage.volume_matching import (
    annotations_of,
    best_match,
    class_of,
    default_class,
    has_class,
    is_for,
    mismatch,
    mode_of,
)

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_IN_TREE = "kubernetes.io/"


class Event(NamedTuple):
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The objects that affect a claim."""

    volumes: Mapping[str, Obj]
    classes: Mapping[str, Obj]
    waiting_pods: Sequence[str] = ()
    """Names of unscheduled pods that use the claim."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    bind: Obj | None = None
    """The volume to bind to; completed steps of the binding are not repeated."""
    phase: str = ""
    event: Event | None = None
    provisioner: str = ""
    storage_class: str = ""
    """The class to set on the claim: the default class is newer than the claim."""


def plan_claim(claim: Obj, observed: Observed) -> ClaimPlan:
    if BIND_COMPLETED in annotations_of(claim):
        return _bound(claim, observed.volumes)
    if claim["spec"].get("volumeName"):
        return _asking_by_name(claim, observed.volumes)
    return _searching(claim, observed)


def _bound(claim: Obj, volumes: Mapping[str, Obj]) -> ClaimPlan:
    name = claim["spec"].get("volumeName")
    if not name:
        return _lost(
            claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        )
    volume = volumes.get(name)
    if volume is None:
        return _lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
    reference = volume["spec"].get("claimRef")
    if reference is None or reference.get("uid") == claim["metadata"]["uid"]:
        return ClaimPlan(bind=volume)
    message = "Two claims are bound to the same volume, this one is bound incorrectly"
    return _lost(claim, "ClaimMisbound", message)


def _lost(claim: Obj, reason: str, message: str) -> ClaimPlan:
    if (claim.get("status") or {}).get("phase") == "Lost":
        return ClaimPlan()
    return ClaimPlan(phase="Lost", event=Event("Warning", reason, message))


def _asking_by_name(claim: Obj, volumes: Mapping[str, Obj]) -> ClaimPlan:
    volume = volumes.get(claim["spec"]["volumeName"])
    if volume is None:
        return ClaimPlan(phase="Pending")
    name = volume["metadata"]["name"]
    if volume["spec"].get("claimRef") is None:
        if why := mismatch(volume, claim):
            message = f'Cannot bind to requested volume "{name}": {why}'
            return ClaimPlan(phase="Pending", event=Event("Warning", "VolumeMismatch", message))
        return ClaimPlan(bind=volume)
    if is_for(volume, claim):
        return ClaimPlan(bind=volume)
    message = f'volume "{name}" already bound to a different claim.'
    return ClaimPlan(phase="Pending", event=Event("Warning", "FailedBinding", message))


def _searching(claim: Obj, observed: Observed) -> ClaimPlan:
    wanted = class_of(claim)
    storage_class = observed.classes.get(wanted)
    delayed = storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    volume = best_match(claim, observed.volumes.values(), only_reserved=delayed)
    if volume is not None:
        return ClaimPlan(bind=volume)
    if not has_class(claim) and (default := default_class(observed.classes.values())) is not None:
        return ClaimPlan(storage_class=default["metadata"]["name"])
    if delayed and SELECTED_NODE not in annotations_of(claim):
        return ClaimPlan(phase="Pending", event=_waiting(observed.waiting_pods))
    if wanted:
        return _provision(wanted, storage_class)
    message = "no persistent volumes available for this claim and no storage class is set"
    return ClaimPlan(phase="Pending", event=Event("Normal", "FailedBinding", message))


def _waiting(pods: Collection[str]) -> Event:
    if not pods:
        message = "waiting for first consumer to be created before binding"
        return Event("Normal", "WaitForFirstConsumer", message)
    noun = "pods" if len(pods) > 1 else "pod"
    return Event("Normal", "WaitForPodScheduled", f"waiting for {noun} {','.join(pods)} to be scheduled")


def _provision(name: str, storage_class: Obj | None) -> ClaimPlan:
    """Volumes are created by provisioners, which watch for claims that name them."""
    if storage_class is None:
        message = f'storageclass.storage.k8s.io "{name}" not found'
        return ClaimPlan(event=Event("Warning", "ProvisioningFailed", message))
    provisioner = storage_class["provisioner"]
    if provisioner.startswith(_IN_TREE):
        message = f"no volume plugin matched name: {provisioner}"
        return ClaimPlan(event=Event("Warning", "ProvisioningFailed", message))
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
        "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
        "correctly registered."
    )
    return ClaimPlan(provisioner=provisioner, event=Event("Normal", "ExternalProvisioning", message))


@dataclass(frozen=True, slots=True)
class VolumePlan:
    phase: str = ""
    unbind: bool = False
    mismatched: bool = False
    """Its claim requires another volumeMode; both get an event."""


def plan_volume(volume: Obj, claim: Obj | None) -> VolumePlan:
    """`claim` is the one that the volume's claimRef names, if it exists with that uid."""
    reference = volume["spec"].get("claimRef")
    if reference is None or not reference.get("uid"):
        return VolumePlan("Available")
    phase = (volume.get("status") or {}).get("phase")
    if claim is None:
        return VolumePlan("" if phase in ("Released", "Failed") else "Released")
    bound_to = claim["spec"].get("volumeName")
    if not bound_to:
        return VolumePlan(mismatched=mode_of(volume) != mode_of(claim))
    if bound_to == volume["metadata"]["name"]:
        return VolumePlan("Bound")
    provisioned = PROVISIONED_BY in annotations_of(volume)
    if provisioned and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return VolumePlan("" if phase in ("Released", "Failed") else "Released")
    return VolumePlan("Available", unbind=True)


# Patches


def claim_reference(claim: Obj) -> Obj:
    metadata = claim["metadata"]
    named = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **named}


def bind_volume(volume: Obj, claim: Obj) -> Obj:
    """The patch that binds the volume to the claim; empty when it is bound."""
    patch: Obj = {}
    reference = volume["spec"].get("claimRef") or {}
    if reference.get("uid") != claim["metadata"]["uid"]:
        patch["spec"] = {"claimRef": claim_reference(claim)}
    if not is_for(volume, claim) and BOUND_BY_CONTROLLER not in annotations_of(volume):
        patch["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return patch


def unbind_volume(volume: Obj) -> Obj:
    """The patch that frees the volume; a reservation by a user is kept."""
    if BOUND_BY_CONTROLLER in annotations_of(volume):
        return {"spec": {"claimRef": None}, "metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}}
    return {"spec": {"claimRef": {"uid": None}}}


def bind_claim(claim: Obj, volume: Obj) -> Obj:
    """The patch that binds the claim to the volume; empty when it is bound."""
    patch: Obj = {}
    annotations = {}
    name = volume["metadata"]["name"]
    if claim["spec"].get("volumeName") != name:
        patch["spec"] = {"volumeName": name}
        annotations[BOUND_BY_CONTROLLER] = "yes"
    annotations[BIND_COMPLETED] = "yes"
    missing = {key: value for key, value in annotations.items() if key not in annotations_of(claim)}
    return patch | {"metadata": {"annotations": missing}} if missing else patch


def claim_status(claim: Obj, phase: str, volume: Obj | None = None) -> Obj:
    """The whole new status. The capacity of a bound claim is not updated: resizing does that."""
    status = dict(claim.get("status") or {})
    before = status.get("phase")
    status["phase"] = phase
    if volume is None:
        for name in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
            status.pop(name, None)
        return status
    status["accessModes"] = volume["spec"]["accessModes"]
    if before != phase:
        status["capacity"] = volume["spec"]["capacity"]
        if attributes := volume["spec"].get("volumeAttributesClassName"):
            status["currentVolumeAttributesClassName"] = attributes
    return status
