# SPDX-License-Identifier: Apache-2.0
"""Usage of an object in terms of a ResourceQuota, and the quota's scopes.

Pure functions over decoded objects. The quota plugin uses them before a write, the quota controller for the totals
afterwards; both must agree, so there is one copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from springtide.api import quantity
from springtide.api.mirror_pods import is_mirror
from springtide.api.pod_amounts import pod_limits, pod_requests
from springtide.api.quantity import Quantity
from springtide.local.kinds import label_selectors

Obj = dict[str, Any]
Usage = dict[str, Quantity]

# Names of plain object counts before `count/...` was introduced.
_ALIASES: Final = {name: name for name in ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")}
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = frozenset(
    ["count/pods", "pods", *(prefix + name for name in _COMPUTE for prefix in ("", "requests.", "limits."))]
)
# A quota on these requires that every container specifies them; other resources count as zero when missing.
_MUST_BE_SAID: Final = frozenset(prefix + name for name in ("cpu", "memory") for prefix in ("", "requests.", "limits."))
_SERVICE_NAMES: Final = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_CLAIM_NAMES: Final = ("persistentvolumeclaims", "requests.storage")
_CLASS_SUFFIX: Final = ".storageclass.storage.k8s.io/"
_HUGE_PAGES: Final = "hugepages-"
_ONE: Final = quantity.of(1)


def usage(storage: str, obj: Obj, now: datetime) -> Usage:
    """Usage of one object of a resource (`pods`, `mpijobs.kubeflow.org`)."""
    if storage == "pods":
        return _pod_usage(obj, now)
    if storage == "services":
        return _service_usage(obj)
    if storage == "persistentvolumeclaims":
        return _claim_usage(obj)
    counted = {f"count/{storage}": _ONE}
    return counted | {_ALIASES[storage]: _ONE} if storage in _ALIASES else counted


def tracked(storage: str, names: Iterable[str]) -> list[str]:
    """The resource names of a quota to which objects of this resource count."""
    if storage == "pods":
        return [name for name in names if name in _POD_NAMES or _is_pod_extra(name)]
    if storage == "services":
        return [name for name in names if name in _SERVICE_NAMES]
    if storage == "persistentvolumeclaims":
        return [name for name in names if _is_claim_name(name)]
    own = {f"count/{storage}", _ALIASES.get(storage, "")}
    return [name for name in names if name in own]


def in_scope(quota: Obj, storage: str, obj: Obj) -> bool:
    """Whether the quota's scopes include this object; a scoped quota counts only pods."""
    spec = quota.get("spec") or {}
    requirements = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or []]
    requirements += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not requirements:
        return True
    return storage == "pods" and all(_pod_in_scope(requirement, obj) for requirement in requirements)


def unsaid(required: Iterable[str], pod: Obj) -> str:
    """`must specify ...` when a container lacks an amount that the quota limits, else the empty string."""
    spec = pod["spec"]
    needed = sorted(_MUST_BE_SAID.intersection(required))
    if not needed or spec.get("resources"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in [*spec["containers"], *(spec.get("initContainers") or [])]:
        resources = container.get("resources") or {}
        said = _compute_usage(resources.get("requests") or {}, resources.get("limits") or {})
        for name in needed:
            if name not in said:
                missing.setdefault(name, set()).add(container["name"])
    parts = [f"{name} for: {','.join(sorted(names))}" for name, names in sorted(missing.items())]
    return f"must specify {'; '.join(parts)}" if parts else ""


def quota_delta(storage: str, obj: Obj, old: Obj | None, now: datetime) -> Usage:
    """Usage that a write adds: for an update only the increase, never negative."""
    new = usage(storage, obj, now)
    if old is not None:
        before = usage(storage, old, now)
        new = {name: _at_least_zero(amount - before.get(name, quantity.ZERO)) for name, amount in new.items()}
    return {name: amount for name, amount in new.items() if amount}


def _at_least_zero(amount: Quantity) -> Quantity:
    return max(amount, quantity.ZERO)


# -- pods -------------------------------------------------------------------------------------------------------------


def _pod_usage(pod: Obj, now: datetime) -> Usage:
    if is_mirror(pod):
        return {}
    counted = {"count/pods": _ONE}
    if not _still_charged(pod, now):
        return counted
    return counted | _compute_usage(pod_requests(pod["spec"]), pod_limits(pod["spec"]))


def _still_charged(pod: Obj, now: datetime) -> bool:
    """Whether the pod still counts: it is not finished, nor past its deletion time.

    A pod of a lost node that is past its deletion time must not block its replacement.
    """
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    meta = pod["metadata"]
    deleted, grace = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    if deleted is None or grace is None:
        return True
    return now <= datetime.fromisoformat(deleted) + timedelta(seconds=grace)


def _compute_usage(requests: Mapping[str, str | Quantity], limits: Mapping[str, str | Quantity]) -> Usage:
    result: Usage = {"pods": _ONE}
    for name in _COMPUTE:
        if name in requests:
            result[name] = result[f"requests.{name}"] = _amount(requests[name])
        if name in limits:
            result[f"limits.{name}"] = _amount(limits[name])
    for name, request in requests.items():
        if name.startswith(_HUGE_PAGES):
            result[name] = result[f"requests.{name}"] = _amount(request)
        elif _is_extended(name):
            result[f"requests.{name}"] = _amount(request)
    return result


def _amount(value: str | Quantity) -> Quantity:
    return value if isinstance(value, Quantity) else quantity.parse(str(value))


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def _is_pod_extra(name: str) -> bool:
    bare = name.removeprefix("requests.")
    return bare.startswith(_HUGE_PAGES) or (name.startswith("requests.") and _is_extended(bare))


def _pod_in_scope(requirement: Mapping[str, Any], pod: Obj) -> bool:
    scope = requirement["scopeName"]
    if scope == "PriorityClass":
        return _priority_matches(requirement, pod["spec"].get("priorityClassName", ""))
    check = _SCOPES.get(scope)
    return check is not None and check(pod)


def _priority_matches(requirement: Mapping[str, Any], name: str) -> bool:
    if requirement["operator"] == "Exists":
        return bool(name)
    expression = {**requirement, "key": "PriorityClass"}
    selector = label_selectors.from_object({"matchExpressions": [expression]})
    return selector.matches({"PriorityClass": name} if name else {})


def _is_terminating(pod: Obj) -> bool:
    deadline = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _is_best_effort(pod: Obj) -> bool:
    """Whether neither the pod nor a container has a request or limit of CPU or memory."""
    spec = pod["spec"]
    holders = [*spec["containers"], *(spec.get("initContainers") or []), spec]
    for holder in holders:
        for amounts in (holder.get("resources") or {}).values():
            if isinstance(amounts, dict) and any(
                _amount(amounts[name]) for name in ("cpu", "memory") if name in amounts
            ):
                return False
    return True


def _reaches_other_namespaces(pod: Obj) -> bool:
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = [*(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or [])]
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        terms += [term["podAffinityTerm"] for term in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


_SCOPES: Final[dict[str, Callable[[Obj], bool]]] = {
    "Terminating": _is_terminating,
    "NotTerminating": lambda pod: not _is_terminating(pod),
    "BestEffort": _is_best_effort,
    "NotBestEffort": lambda pod: not _is_best_effort(pod),
    "CrossNamespacePodAffinity": _reaches_other_namespaces,
}


# -- services and claims ----------------------------------------------------------------------------------------------


def _service_usage(service: Obj) -> Usage:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), spec.get("ports") or []
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "count/services": _ONE,
        "services": _ONE,
        "services.nodeports": quantity.of(node_ports),
        "services.loadbalancers": quantity.of(int(kind == "LoadBalancer")),
    }


def _claim_usage(claim: Obj) -> Usage:
    spec = claim["spec"]
    annotations = claim["metadata"].get("annotations") or {}
    storage_class = annotations.get("volume.beta.kubernetes.io/storage-class") or spec.get("storageClassName") or ""
    amounts = {"persistentvolumeclaims": _ONE}
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is not None:
        allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage", "0")
        amounts["requests.storage"] = max(_whole(_amount(wanted)), _whole(_amount(allocated)))
    by_class = {f"{storage_class}{_CLASS_SUFFIX}{name}": amount for name, amount in amounts.items() if storage_class}
    return {"count/persistentvolumeclaims": _ONE, **amounts, **by_class}


def _whole(amount: Quantity) -> Quantity:
    """Storage is counted in whole bytes."""
    return Quantity(quantity.of(amount.value).nanos, amount.form)


def _is_claim_name(name: str) -> bool:
    suffix = name.partition(_CLASS_SUFFIX)[2]
    return name == "count/persistentvolumeclaims" or name in _CLAIM_NAMES or suffix in _CLAIM_NAMES
