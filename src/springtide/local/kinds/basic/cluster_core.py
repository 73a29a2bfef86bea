# SPDX-License-Identifier: Apache-2.0
"""Namespaces and ResourceQuotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from springtide.api.field_errors import FieldError, invalid, required
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.metadata import IMMUTABLE, STANDARD_FINALIZERS
from springtide.local.kinds.pod.containers_resources import amount, is_quota_name, validate_amount, validate_name
from springtide.local.kinds.strategy import Column, Obj, Strategy

NAME_LABEL = "kubernetes.io/metadata.name"
KUBERNETES = "kubernetes"


def _default_namespace(obj: Obj) -> None:
    _label_with_name(obj)
    obj.setdefault("spec", {})
    obj.setdefault("status", {}).setdefault("phase", "Active")


def _label_with_name(obj: Obj) -> None:
    """Set the name label: selectors match only labels. A generated name is not known before `prepare_create`."""
    meta = obj["metadata"]
    if name := meta.get("name"):
        meta.setdefault("labels", {})[NAME_LABEL] = name


def _prepare_namespace(obj: Obj) -> None:
    _label_with_name(obj)
    obj["status"] = {"phase": "Active"}
    finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
    if KUBERNETES not in finalizers:
        finalizers.append(KUBERNETES)


def _keep_finalizers(new: Obj, old: Obj) -> None:
    """Keep the finalizers, which only the `finalize` subresource changes."""
    spec = new.setdefault("spec", {})
    spec.pop("finalizers", None)
    if finalizers := (old.get("spec") or {}).get("finalizers"):
        spec["finalizers"] = finalizers


def validate_namespace_finalizers(obj: Obj, indexed: bool = False) -> list[FieldError]:
    """Validate finalizers; the `finalize` subresource reports their indexes (`indexed`)."""
    errors: list[FieldError] = []
    for index, finalizer in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
        path = f"spec.finalizers[{index}]" if indexed else "spec.finalizers"
        errors += [invalid(path, finalizer, why) for why in names.qualified_name(finalizer)]
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid(path, finalizer, why))
    return errors


def _validate_namespace_status(new: Obj, old: Obj) -> list[FieldError]:
    phase = (new.get("status") or {}).get("phase", "")
    if new["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            return [invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
    elif phase != "Active":
        return [invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    return []


def _phase(obj: Obj) -> str:
    phase: str = (obj.get("status") or {}).get("phase", "")
    return phase


def _namespace_cells(obj: Obj, now: str) -> Sequence[Any]:
    return name_of(obj), _phase(obj), age_of(obj, now)


NAMESPACE = Strategy(
    default=_default_namespace,
    prepare_create=_prepare_namespace,
    prepare_update=_keep_finalizers,
    validate=validate_namespace_finalizers,
    validate_status=_validate_namespace_status,
    has_status=True,
    columns=(NAME, Column("Status", description="The status of the namespace"), AGE),
    cells=_namespace_cells,
    fields={"status.phase": _phase, "name": name_of},
)


_POD_SCOPES = frozenset(
    {"Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}
)
_POD_RESOURCES = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_SCOPES: Mapping[str, frozenset[str]] = dict.fromkeys(_POD_SCOPES, _POD_RESOURCES) | {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""The resources to which each scope applies."""
_CONFLICTS = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))
_EXISTS_ONLY = frozenset({"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"})


def _default_quota(obj: Obj) -> None:
    obj.setdefault("spec", {})
    obj.setdefault("status", {})


def _forget_status(obj: Obj) -> None:
    obj["status"] = {}


def _validate_quota(obj: Obj) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors = _validate_quantities(spec.get("hard"), "spec.hard")
    errors += _validate_scopes(spec)
    if selector := spec.get("scopeSelector"):
        errors += _validate_scope_selector(spec, selector)
    return errors


def _validate_quantities(quantities: Mapping[str, str] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, quantity in (quantities or {}).items():
        where = f"{path}[{name}]"
        errors += validate_name(name, where)
        if "/" not in name and not is_quota_name(name):
            errors.append(invalid(where, name, "must be a standard resource for quota"))
        errors += validate_amount(name, quantity, where)
    return errors


def _misapplied(scope: str, hard: Iterable[str]) -> int:
    """Number of limited resources to which the scope does not apply."""
    known = _SCOPES.get(scope)
    return sum(1 for name in hard if is_quota_name(name) and known is not None and name not in known)


def _validate_scopes(spec: Obj) -> list[FieldError]:
    path, scopes = "spec.scopes", spec.get("scopes") or []
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid(path, scopes, "unsupported scope"))
        for _ in range(_misapplied(scope, spec.get("hard") or ())):
            errors.append(invalid(path, scopes, "unsupported scope applied to resource"))
    errors += [invalid(path, scopes, "conflicting scopes") for pair in _CONFLICTS if pair.issubset(scopes)]
    return errors


def _validate_scope_selector(spec: Obj, selector: Obj) -> list[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    errors: list[FieldError] = []
    seen: set[str] = set()
    for need in selector.get("matchExpressions") or ():
        scope = need.get("scopeName", "")
        seen.add(scope)
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        for _ in range(_misapplied(scope, spec.get("hard") or ())):
            errors.append(invalid(path, selector, "unsupported scope applied to resource"))
        errors += _validate_scope_operator(need, path)
    scopes = spec.get("scopes")
    errors += [invalid(path, scopes, "conflicting scopes") for pair in _CONFLICTS if pair <= seen]
    return errors


def _validate_scope_operator(need: Obj, path: str) -> list[FieldError]:
    operator, values = need.get("operator", ""), need.get("values") or []
    errors: list[FieldError] = []
    if need.get("scopeName") in _EXISTS_ONLY and operator != "Exists":
        why = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
            "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
            "ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        errors.append(invalid(f"{path}.operator", operator, why))
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(invalid(f"{path}.values", values, why))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return errors


def _validate_quota_update(new: Obj, old: Obj) -> list[FieldError]:
    scopes = (new.get("spec") or {}).get("scopes")
    if set(scopes or ()) != set((old.get("spec") or {}).get("scopes") or ()):
        return [invalid("spec.scopes", scopes, IMMUTABLE)]
    return []


def _validate_quota_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new.get("status") or {}
    return _validate_quantities(status.get("hard"), "status.hard") + _validate_quantities(
        status.get("used"), "status.used"
    )


def _quota_warnings(obj: Obj) -> list[str]:
    hard: Mapping[str, str] = (obj.get("spec") or {}).get("hard") or {}
    sentences: list[str] = []
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and amount(hard[request]) > amount(hard[limit]):
            sentences.append(f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})")
    return sentences


def _quota_cells(obj: Obj, now: str) -> Sequence[Any]:
    status = obj.get("status") or {}
    used: Mapping[str, str] = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, quantity in sorted((status.get("hard") or {}).items()):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {used.get(name, '0')}/{quantity}")
    return name_of(obj), ", ".join(requests), ", ".join(limits), age_of(obj, now)


RESOURCE_QUOTA = Strategy(
    default=_default_quota,
    prepare_create=_forget_status,
    validate=_validate_quota,
    validate_update=_validate_quota_update,
    validate_status=_validate_quota_status,
    has_status=True,
    columns=(
        NAME,
        Column(
            "Request", description="Request represents a minimum amount of cpu/memory that a container may consume."
        ),
        Column(
            "Limit",
            description=(
                "Limits control the maximum amount of cpu/memory that a container may use independent of contention "
                "on the node."
            ),
        ),
        AGE,
    ),
    cells=_quota_cells,
    warnings=_quota_warnings,
)
