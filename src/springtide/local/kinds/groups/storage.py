# SPDX-License-Identifier: Apache-2.0
"""StorageClasses: provisioner, parameters and topologies, and their immutable fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, duplicate, invalid, not_supported, required, too_long
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Column, Obj, Strategy

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
_MAX_PARAMETERS, _MAX_PARAMETER_BYTES = 512, 256 * 1024


def is_default(storage_class: Obj) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return "true" in (annotations.get(DEFAULT_CLASS), annotations.get(_BETA_DEFAULT_CLASS))


def _default(storage_class: Obj) -> None:
    if storage_class.get("reclaimPolicy") is None:
        storage_class["reclaimPolicy"] = "Delete"
    if storage_class.get("volumeBindingMode") is None:
        storage_class["volumeBindingMode"] = "Immediate"


def _validate(storage_class: Obj) -> list[FieldError]:
    provisioner, policy = storage_class.get("provisioner", ""), storage_class["reclaimPolicy"]
    mode = storage_class["volumeBindingMode"]
    if provisioner:
        lowered = provisioner.lower()
        errors = [invalid("provisioner", lowered, why) for why in names.qualified_name(lowered)]
    else:
        errors = [required("provisioner")]
    errors += _validate_parameters(storage_class.get("parameters") or {})
    if policy and policy not in ("Delete", "Retain"):
        errors.append(not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
    if mode not in ("Immediate", "WaitForFirstConsumer"):
        errors.append(not_supported("volumeBindingMode", mode, ("Immediate", "WaitForFirstConsumer")))
    return errors + _validate_topologies(storage_class.get("allowedTopologies") or ())


def _validate_parameters(parameters: dict[str, str]) -> list[FieldError]:
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long("parameters", _MAX_PARAMETERS)]
    errors = [invalid("parameters", "", "field can not be empty.")] if "" in parameters else []
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > _MAX_PARAMETER_BYTES:
        errors.append(too_long("parameters", _MAX_PARAMETER_BYTES))
    return errors


def _validate_topologies(terms: Sequence[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[frozenset[tuple[str, frozenset[str]]]] = set()
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        keys: dict[str, frozenset[str]] = {}
        for position, expression in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = expression.get("key", ""), expression.get("values") or []
            errors += _validate_topology_values(values, f"{path}[{position}].values")
            errors += [invalid(f"{path}[{position}].key", key, why) for why in names.qualified_name(key)]
            if key in keys:
                errors.append(duplicate(f"{path}[{position}].key", key))
            keys[key] = frozenset(values)
        term_keys = frozenset(keys.items())
        if term_keys in seen:
            errors.append(duplicate(path, ""))
        seen.add(term_keys)
    return errors


def _validate_topology_values(values: Sequence[str], path: str) -> list[FieldError]:
    if not values:
        return [required(path)]
    first = {value: index for index, value in reversed(list(enumerate(values)))}
    return [duplicate(f"{path}[{index}]", value) for index, value in enumerate(values) if first[value] < index]


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    fields = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    return [
        invalid(field, new.get(field), IMMUTABLE)
        for field in fields
        if (new.get(field) or None) != (old.get(field) or None)
    ]


_COLUMNS = (
    NAME,
    Column("Provisioner", description="provisioner indicates the type of the provisioner."),
    Column(
        "ReclaimPolicy",
        description="reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this "
        "storage class. Defaults to Delete.",
    ),
    Column(
        "VolumeBindingMode",
        description="volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When "
        "unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the "
        "VolumeScheduling feature.",
    ),
    Column(
        "AllowVolumeExpansion",
        description="allowVolumeExpansion shows whether the storage class allow volume expand.",
    ),
    AGE,
)


def _cells(storage_class: Obj, now: str) -> Sequence[Any]:
    return (
        name_of(storage_class) + (" (default)" if is_default(storage_class) else ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy") or "Delete",
        storage_class.get("volumeBindingMode") or "Immediate",
        bool(storage_class.get("allowVolumeExpansion")),
        age_of(storage_class, now),
    )


STORAGE_CLASS = Strategy(
    default=_default, validate=_validate, validate_update=_validate_update, columns=_COLUMNS, cells=_cells
)
