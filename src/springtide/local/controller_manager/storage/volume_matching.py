# SPDX-License-Identifier: Apache-2.0
"""Matching of volumes and claims. Pure; messages are those of kube-controller-manager."""

from __future__ import annotations

from collections.abc import Iterable

from springtide.api import quantity
from springtide.api.quantity import Quantity
from springtide.kube.resources import Obj
from springtide.local.controller_manager.selection.ownership import selector_of
from springtide.local.kinds.label_selectors import EVERYTHING

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def annotations_of(obj: Obj) -> Obj:
    return obj["metadata"].get("annotations") or {}


def class_of(obj: Obj) -> str:
    """The storage class of a claim or a volume; the annotation is older and takes precedence."""
    beta = annotations_of(obj).get(BETA_CLASS)
    return str(beta if beta is not None else obj["spec"].get("storageClassName") or "")


def has_class(claim: Obj) -> bool:
    """Whether the claim states its class, including the empty class."""
    return BETA_CLASS in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def default_class(classes: Iterable[Obj]) -> Obj | None:
    """The newest of those marked as default."""
    marked = [one for one in classes if any(annotations_of(one).get(name) == "true" for name in _DEFAULT_CLASS)]
    marked.sort(key=lambda one: one["metadata"]["name"])
    return max(marked, key=lambda one: str(one["metadata"]["creationTimestamp"]), default=None)


def is_for(volume: Obj, claim: Obj) -> bool:
    """Whether the volume is bound to, or reserved for, this claim."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    metadata = claim["metadata"]
    named = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
    return named and reference.get("uid", "") in ("", metadata["uid"])


def mismatch(volume: Obj, claim: Obj) -> str:
    """Why a volume that the claim names cannot be bound to it, or empty."""
    if "deletionTimestamp" in volume["metadata"]:
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if _capacity(volume) < _request(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if mode_of(volume) != mode_of(claim):
        return "incompatible volumeMode"
    if not _modes(volume) >= _modes(claim):
        return "incompatible accessMode"
    return ""


def best_match(claim: Obj, volumes: Iterable[Obj], *, only_reserved: bool = False) -> Obj | None:
    """The volume reserved for the claim, else the one with the fewest access modes, then the smallest, that suffices.

    With `only_reserved`, volumes that are free are left to the scheduler to choose from.
    """
    fitting = [volume for volume in volumes if _could_serve(volume, claim)]
    reserved = next((volume for volume in fitting if is_for(volume, claim)), None)
    if reserved is not None or only_reserved:
        return reserved
    written = claim["spec"].get("selector")
    selector = EVERYTHING if written is None else selector_of(written)
    free = [
        volume
        for volume in fitting
        if (volume.get("status") or {}).get("phase") == "Available"
        and class_of(volume) == class_of(claim)
        and selector.matches(volume["metadata"].get("labels"))
    ]
    return min(
        free, key=lambda volume: (len(_modes(volume)), _capacity(volume), volume["metadata"]["name"]), default=None
    )


def _could_serve(volume: Obj, claim: Obj) -> bool:
    return (
        ("claimRef" not in volume["spec"] or is_for(volume, claim))
        and "deletionTimestamp" not in volume["metadata"]
        and _modes(volume) >= _modes(claim)
        and mode_of(volume) == mode_of(claim)
        and _attributes_class(volume) == _attributes_class(claim)
        and _capacity(volume) >= _request(claim)
    )


def mode_of(obj: Obj) -> str:
    return str(obj["spec"].get("volumeMode") or "Filesystem")


def _modes(obj: Obj) -> frozenset[str]:
    return frozenset(obj["spec"].get("accessModes") or ())


def _attributes_class(obj: Obj) -> str:
    return str(obj["spec"].get("volumeAttributesClassName") or "")


def _capacity(volume: Obj) -> Quantity:
    return _amount(volume["spec"].get("capacity"))


def _request(claim: Obj) -> Quantity:
    return _amount((claim["spec"].get("resources") or {}).get("requests"))


def _amount(amounts: Obj | None) -> Quantity:
    return quantity.parse(str((amounts or {}).get("storage", "0")))
