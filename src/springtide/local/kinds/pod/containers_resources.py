# SPDX-License-Identifier: Apache-2.0
"""Names and amounts of resources of containers, pods, nodes, claims and quotas.

Amounts are quantities that the schema has already validated and brought into canonical form; here they are only
compared and added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from springtide.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from springtide.api.quantity import ZERO, Quantity, QuantityError, parse
from springtide.local.kinds import names
from springtide.local.kinds.strategy import Obj

_LONGEST_NAME = 512  # a prefix has 253 characters, the rest 63

NOT_INTEGER = "must be an integer"
NameRule = Callable[[str, str], list[FieldError]]
"""(resource name, path) -> errors in the name."""


def amount(quantity: str | int | None) -> Quantity:
    """The value of a quantity; None is zero."""
    return ZERO if quantity is None else parse(str(quantity))


_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = ("cpu", "memory")
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
QUOTA_NAMES = (
    _COMPUTE
    | _COUNTED
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE}
    | {"requests.storage"}
)
STANDARD_NAMES = QUOTA_NAMES | {"storage"}


def is_huge_pages(name: str) -> bool:
    return name.startswith("hugepages-")


def is_quota_name(name: str) -> bool:
    return name in QUOTA_NAMES or name.startswith(("hugepages-", "requests.hugepages-"))


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether the name is of a device such as `nvidia.com/gpu`: counted in whole units and never overcommitted."""
    return len(name) <= _LONGEST_NAME and _is_extended(name)


@lru_cache(maxsize=256)
def _is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not names.qualified_name(f"requests.{name}")


def is_integer(name: str) -> bool:
    return name in _COUNTED or is_extended(name)


def is_pod_level(name: str) -> bool:
    """Whether a pod as a whole may request the resource."""
    return name in _POD_LEVEL or is_huge_pages(name)


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def validate_name(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, why) for why in names.qualified_name(name)]
    if not errors and "/" not in name and not (name in STANDARD_NAMES or is_quota_name(name)):
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def validate_container_name(name: str, path: str) -> list[FieldError]:
    if name in _COMPUTE:
        return []
    errors = validate_name(name, path)
    if "/" not in name:
        if not is_huge_pages(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def validate_pod_level_name(name: str, path: str) -> list[FieldError]:
    errors = validate_name(name, path)
    if not errors and not is_pod_level(name):
        errors.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))
    return errors


def validate_amount(name: str, quantity: str, path: str) -> list[FieldError]:
    errors = [invalid(path, quantity, names.NEGATIVE)] if str(quantity).startswith("-") else []
    if is_integer(name) and amount(quantity).milli % 1000:
        errors.append(invalid(path, quantity, NOT_INTEGER))
    return errors


def validate_requirements(
    requirements: Obj, path: str, claims: Collection[str] = (), name_rule: NameRule = validate_container_name
) -> list[FieldError]:
    """Validate `resources` of a container or pod: known names, whole devices, requests within limits."""
    limits: Mapping[str, str] = requirements.get("limits") or {}
    requests: Mapping[str, str] = requirements.get("requests") or {}
    errors: list[FieldError] = []
    for name, quantity in limits.items():
        errors += _validate_entry(name, quantity, f"{path}.limits[{name}]", name_rule)
    for name, quantity in requests.items():
        errors += _validate_entry(name, quantity, f"{path}.requests[{name}]", name_rule)
        errors += _validate_request(name, quantity, limits, path)
    asked = limits.keys() | requests.keys()
    if not ("cpu" in asked or "memory" in asked) and any(is_huge_pages(name) for name in asked):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if wanted := requirements.get("claims"):
        errors += _validate_claims(wanted, claims, f"{path}.claims")
    return errors


def _validate_entry(name: str, quantity: str, path: str, name_rule: NameRule) -> list[FieldError]:
    errors = name_rule(name, path)
    errors += validate_amount(name, quantity, path)
    if is_huge_pages(name) and not _fills_pages(name, quantity):
        errors.append(invalid(path, quantity, f"{quantity} is not positive integer multiple of {name}"))
    return errors


def _fills_pages(name: str, quantity: str) -> bool:
    try:
        size = amount(name.removeprefix("hugepages-")).value
    except QuantityError:
        return False
    return size > 0 and amount(quantity).value % size == 0


def _validate_request(name: str, quantity: str, limits: Mapping[str, str], path: str) -> list[FieldError]:
    limit = limits.get(name)
    if limit is None:
        if may_overcommit(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    if quantity == limit or amount(quantity) == amount(limit):
        return []
    if not may_overcommit(name):
        return [invalid(f"{path}.requests", quantity, f"must be equal to {name} limit of {limit}")]
    if amount(quantity) > amount(limit):
        return [invalid(f"{path}.requests", quantity, f"must be less than or equal to {name} limit of {limit}")]
    return []


def _validate_claims(wanted: list[Obj], claims: Collection[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(wanted):
        where = f"{path}[{index}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(where))
            continue
        if (name, request) in seen:
            errors.append(duplicate(where, f"{name}/{request}" if request else name))
        seen.add((name, request))
        if name not in claims:
            listed = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            why = f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.append(replace(not_found(where, name), message=f'Not found: "{name}": {why}'))
    return errors
