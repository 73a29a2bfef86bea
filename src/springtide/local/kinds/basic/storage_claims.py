# SPDX-License-Identifier: Apache-2.0
"""PersistentVolumeClaims: requests for storage, and the fields that may change once a claim is bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, forbidden, invalid, required, shown
from springtide.api.quantity import ZERO
from springtide.local.kinds import names
from springtide.local.kinds.basic.storage_core import (
    CLASS_ANNOTATION,
    access_text,
    class_of,
    phase_of,
    validate_modes,
    validate_volume_mode,
)
from springtide.local.kinds.columns import AGE, NAME, UNSET, age_of, name_of
from springtide.local.kinds.label_selectors import validate_selector
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.pod.containers_resources import amount
from springtide.local.kinds.strategy import Column, Obj, Strategy

_FROZEN = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_SIZE = "spec.resources.requests.storage"


def _default_claim(claim: Obj) -> None:
    spec: Obj = claim.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    spec.setdefault("resources", {})
    status: Obj = claim.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def _prepare_claim(claim: Obj) -> None:
    claim["status"] = {"phase": "Pending"}
    _settle_data_source(claim["spec"], {})


def _prepare_claim_update(new: Obj, old: Obj) -> None:
    _settle_data_source(new["spec"], old.get("spec") or {})


def _settle_data_source(spec: Obj, before: Obj) -> None:
    """Make `dataSource` and `dataSourceRef` agree; unknown kinds are supported only in the newer field."""
    if (spec.get("dataSourceRef") or {}).get("namespace") and not before.get("dataSourceRef"):
        spec.pop("dataSourceRef")
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        known = (source.get("apiGroup") or "", source.get("kind")) in (
            ("", "PersistentVolumeClaim"),
            ("snapshot.storage.k8s.io", "VolumeSnapshot"),
        )
        if known or before.get("dataSource") or before.get("dataSourceRef"):
            spec["dataSourceRef"] = dict(source)
        else:
            spec.pop("dataSource")
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def _validate_claim(claim: Obj) -> list[FieldError]:
    spec = claim.get("spec") or {}
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required("spec.accessModes", "at least 1 access mode is required")]
    if (selector := spec.get("selector")) is not None:
        errors += validate_selector(selector, "spec.selector")
    errors += validate_modes(modes)
    errors += _validate_claim_size(spec)
    if name := spec.get("storageClassName"):
        errors += [invalid("spec.storageClassName", name, why) for why in names.dns_subdomain(name)]
    errors += validate_volume_mode(spec)
    for field in ("dataSource", "dataSourceRef"):
        if (source := spec.get(field)) is not None:
            errors += _validate_data_source(source, f"spec.{field}")
    return errors


def _validate_claim_size(spec: Obj) -> list[FieldError]:
    path = "spec.resources[storage]"
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        return [required(path)]
    return [] if amount(size) > ZERO else [invalid(path, size, "must be greater than zero")]


def _validate_data_source(source: Obj, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, why))
    elif group:
        errors += [invalid(f"{path}.apiGroup", group, why) for why in names.dns_subdomain(group)]
    return errors


def _validate_claim_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    asked = (spec.get("resources") or {}).get("requests") or {}
    had = (before.get("resources") or {}).get("requests") or {}
    errors: list[FieldError] = []
    if _allowed_changes_aside(spec, before, (new.get("status") or {}).get("phase") == "Bound") != before:
        errors.append(forbidden("spec", f"{_FROZEN}\n{shown(before)}\n{shown(new['spec'])}"))
    if amount(asked.get("storage")) < amount(had.get("storage")):
        present = ((old.get("status") or {}).get("capacity") or {}).get("storage")
        if amount(asked.get("storage")) <= amount(present):
            errors.append(forbidden(_SIZE, "field can not be less than status.capacity"))
    if spec.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    return errors


def _allowed_changes_aside(spec: Obj, before: Obj, bound: bool) -> Obj:
    """The new spec without the permitted changes: volume name and class once, size when bound."""
    masked = dict(spec)
    if not before.get("volumeName"):
        masked.pop("volumeName", None)
    if "storageClassName" not in before:
        masked.pop("storageClassName", None)
    if bound:
        _put_back(masked, before, "volumeAttributesClassName")
        resources = dict(masked.get("resources") or {})
        had = (before.get("resources") or {}).get("requests") or {}
        if resources.get("requests") and "storage" in had:
            resources["requests"] = {**resources["requests"], "storage": had["storage"]}
            masked["resources"] = resources
    return masked


def _put_back(masked: Obj, before: Obj, field: str) -> None:
    masked.pop(field, None)
    if field in before:
        masked[field] = before[field]


def _claim_warnings(claim: Obj) -> list[str]:
    sentences: list[str] = []
    if CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {}):
        why = 'deprecated since v1.8; use "storageClassName" attribute instead'
        sentences.append(f"metadata.annotations[{CLASS_ANNOTATION}]: {why}")
    resources = (claim.get("spec") or {}).get("resources") or {}
    for side in ("requests", "limits"):
        size = (resources.get(side) or {}).get("storage")
        if size is not None and amount(size).milli % 1000:
            why = f'fractional byte value "{size}" is invalid, must be an integer'
            sentences.append(f"spec.resources.{side}[storage]: {why}")
    return sentences


def _claim_cells(claim: Obj, now: str) -> Sequence[Any]:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    volume = spec.get("volumeName", "")
    return (
        name_of(claim),
        phase_of(claim),
        volume,
        (status.get("capacity") or {}).get("storage", "0") if volume else "",
        access_text(status.get("accessModes") or ()) if volume else "",
        class_of(claim),
        spec.get("volumeAttributesClassName", UNSET),
        age_of(claim, now),
        spec.get("volumeMode", UNSET),
    )


PERSISTENT_VOLUME_CLAIM = Strategy(
    default=_default_claim,
    prepare_create=_prepare_claim,
    prepare_update=_prepare_claim_update,
    validate=_validate_claim,
    validate_update=_validate_claim_update,
    has_status=True,
    columns=(
        NAME,
        Column(
            "Status",
            description="phase represents the current phase of PersistentVolumeClaim.",
        ),
        Column(
            "Volume",
            description="volumeName is the binding reference to the PersistentVolume backing this claim.",
        ),
        Column(
            "Capacity",
            description="capacity represents the actual resources of the underlying volume.",
        ),
        Column(
            "Access Modes",
            description=(
                "accessModes contains the actual access modes the volume backing the PVC has. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1"
            ),
        ),
        Column(
            "StorageClass",
            description="StorageClass of the pvc",
        ),
        Column(
            "VolumeAttributesClass",
            description="VolumeAttributesClass of the pvc",
        ),
        AGE,
        Column(
            "VolumeMode",
            description=(
                "volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when "
                "not included in claim spec."
            ),
            priority=1,
        ),
    ),
    cells=_claim_cells,
    fields={"name": name_of},
    warnings=_claim_warnings,
)
