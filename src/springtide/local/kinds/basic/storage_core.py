# SPDX-License-Identifier: Apache-2.0
"""PersistentVolumes: storage that outlives pods. The claims are in `storage_claims.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required, shown
from springtide.api.quantity import ZERO
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, UNSET, age_of, name_of
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.pod.containers_resources import amount
from springtide.local.kinds.pod.pod_scheduling import validate_node_selector
from springtide.local.kinds.pod.volumes import validate_no_backsteps, validate_source
from springtide.local.kinds.strategy import Column, Obj, Strategy

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_VOLUME_MODES = ("Block", "Filesystem")
_SOURCE_ORDER = {"hostPath": -1, "local": 1, "storageos": 2, "csi": 3}  # the second source is reported as the error
_NOT_SOURCES = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def _default_volume(volume: Obj) -> None:
    spec: Obj = volume.setdefault("spec", {})
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    if (host := spec.get("hostPath")) is not None:
        host.setdefault("type", "")
    status: Obj = volume.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def _prepare_volume(volume: Obj) -> None:
    volume["status"] = {"phase": "Pending"}
    if created := volume["metadata"].get("creationTimestamp"):
        volume["status"]["lastPhaseTransitionTime"] = created


def _keep_transition_time(new: Obj, old: Obj) -> None:
    """Keep the time of an unchanged phase; the API server, which has the clock, sets that of a changed one."""
    status, before = new.setdefault("status", {}), old.get("status") or {}
    if status.get("phase") == before.get("phase") and "lastPhaseTransitionTime" in before:
        status.setdefault("lastPhaseTransitionTime", before["lastPhaseTransitionTime"])


def _validate_volume(volume: Obj) -> list[FieldError]:
    spec = volume.get("spec") or {}
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required("spec.accessModes")]
    errors += validate_modes(modes)
    errors += _validate_capacity(spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    policies = ("Delete", "Recycle", "Retain")
    if policy and policy not in policies:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, policies))
    if (affinity := spec.get("nodeAffinity")) is not None:
        errors += _validate_node_affinity(affinity)
    errors += _validate_volume_sources(spec)
    if name := spec.get("storageClassName"):
        errors += [invalid("spec.storageClassName", name, why) for why in names.dns_subdomain(name)]
    errors += validate_volume_mode(spec)
    return errors


def validate_modes(modes: Sequence[str]) -> list[FieldError]:
    errors = [not_supported("spec.accessModes", mode, sorted(_MODES)) for mode in modes if mode not in _MODES]
    known = {mode for mode in modes if mode in _MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes"))
    return errors


def _validate_capacity(capacity: Obj) -> list[FieldError]:
    errors = [] if capacity else [required("spec.capacity")]
    if "storage" not in capacity or len(capacity) > 1:
        errors.append(not_supported("spec.capacity", capacity or None, ("storage",)))
    for name, quantity in capacity.items():
        path = f"spec.capacity[{name}]"
        if (value := amount(quantity)) < ZERO:
            errors.append(invalid(path, value.value, "must be a valid resource quantity"))
        if value <= ZERO:
            errors.append(invalid(path, quantity, "must be greater than zero"))
    return errors


def _validate_node_affinity(affinity: Obj) -> list[FieldError]:
    path = "spec.nodeAffinity.required"
    if (needed := affinity.get("required")) is None:
        return [required(path, "must specify required node constraints")]
    return validate_node_selector(needed, path)


def _validate_volume_sources(spec: Obj) -> list[FieldError]:
    sources = [field for field in spec if field not in _NOT_SOURCES and spec[field] is not None]
    sources.sort(key=lambda source: _SOURCE_ORDER.get(source, 0))
    if not sources:
        return [required("spec", "must specify a volume type")]
    errors = validate_source(sources[0], spec[sources[0]], f"spec.{sources[0]}")
    errors += [forbidden(f"spec.{field}", "may not specify more than 1 volume type") for field in sources[1:]]
    if (local := spec.get("local")) is not None:
        path = local.get("path", "")
        errors += validate_no_backsteps(path, "spec.local.path") if path else [required("spec.local.path")]
        if not spec.get("nodeAffinity"):
            errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors


def validate_volume_mode(spec: Obj) -> list[FieldError]:
    mode = spec.get("volumeMode")
    if mode is None or mode in _VOLUME_MODES:
        return []
    return [not_supported("spec.volumeMode", mode, _VOLUME_MODES)]


def _validate_volume_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors: list[FieldError] = []
    sources = [{k: v for k, v in one.items() if k not in _NOT_SOURCES} for one in (spec, before)]
    if sources[0] != sources[1]:
        why = f"spec.persistentvolumesource is immutable after creation\n{shown(sources[1])}\n{shown(sources[0])}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    if spec.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    return errors


def access_text(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def class_of(obj: Obj) -> str:
    name: str = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION) or (obj.get("spec") or {}).get(
        "storageClassName", ""
    )
    return name


def phase_of(obj: Obj) -> str:
    phase: str = (obj.get("status") or {}).get("phase", "")
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else phase


def _volume_cells(volume: Obj, now: str) -> Sequence[Any]:
    spec = volume.get("spec") or {}
    claim = spec.get("claimRef")
    return (
        name_of(volume),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_text(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase_of(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        class_of(volume),
        spec.get("volumeAttributesClassName", UNSET),
        (volume.get("status") or {}).get("reason", ""),
        age_of(volume, now),
        spec.get("volumeMode", UNSET),
    )


PERSISTENT_VOLUME = Strategy(
    default=_default_volume,
    prepare_create=_prepare_volume,
    prepare_status=_keep_transition_time,
    validate=_validate_volume,
    validate_update=_validate_volume_update,
    has_status=True,
    columns=(
        NAME,
        Column(
            "Capacity",
            description=(
                "capacity is the description of the persistent volume's resources and capacity. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity"
            ),
        ),
        Column(
            "Access Modes",
            description=(
                "accessModes contains all ways the volume can be mounted. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes"
            ),
        ),
        Column(
            "Reclaim Policy",
            description=(
                "persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its "
                "claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for "
                "dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by "
                "the volume plugin underlying this PersistentVolume. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming"
            ),
        ),
        Column(
            "Status",
            description=(
                "phase indicates if a volume is available, bound to a claim, or released by a claim. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase"
            ),
        ),
        Column(
            "Claim",
            description=(
                "claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. "
                "Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. "
                "More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding"
            ),
        ),
        Column(
            "StorageClass",
            description="StorageClass of the pv",
        ),
        Column(
            "VolumeAttributesClass",
            description="VolumeAttributesClass of the pv",
        ),
        Column(
            "Reason",
            description=(
                "reason is a brief CamelCase string that describes any failure and is meant for machine parsing and "
                "tidy display in the CLI."
            ),
        ),
        AGE,
        Column(
            "VolumeMode",
            description=(
                "volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw "
                "block state. Value of Filesystem is implied when not included in spec."
            ),
            priority=1,
        ),
    ),
    cells=_volume_cells,
    fields={"name": name_of},
)
