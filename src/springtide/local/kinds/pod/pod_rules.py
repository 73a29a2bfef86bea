# SPDX-License-Identifier: Apache-2.0
"""Validation of pod specs.

`validate_pod_spec` is shared with templates; `validate_pod` adds rules for pods only. Rules for one part are in its
module (`containers.py`, `volumes.py`, `pod_scheduling.py`, `pod_security.py`); this module calls them in
kube-apiserver's order, because users read the first error.
"""

from __future__ import annotations

from collections.abc import Sequence

from springtide.api import whole_numbers
from springtide.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from springtide.api.mirror_pods import MIRROR
from springtide.api.quantity import ZERO, Quantity
from springtide.local.kinds import names
from springtide.local.kinds.metadata import validate_labels
from springtide.local.kinds.pod.containers import (
    Surroundings,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from springtide.local.kinds.pod.containers_resources import (
    amount,
    validate_amount,
    validate_container_name,
    validate_pod_level_name,
    validate_requirements,
)
from springtide.local.kinds.pod.pod_scheduling import (
    validate_affinity,
    validate_gates,
    validate_spread,
    validate_tolerations,
)
from springtide.local.kinds.pod.pod_security import in_go, validate_host_users, validate_pod_security
from springtide.local.kinds.pod.volumes import validate_volumes
from springtide.local.kinds.strategy import Obj

_MAX_INT32 = 2**31 - 1
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_CLAIM = ("name", "resourceClaimName", "resourceClaimTemplateName")


def validate_pod(pod: Obj) -> list[FieldError]:
    """Rules for create and update; `validate_new_pod` adds those for creation."""
    spec: Obj = pod.get("spec") or {}
    errors = _validate_mirror(pod["metadata"], spec)
    errors += _validate_deletion_cost(pod["metadata"])
    errors += validate_pod_spec(spec, "spec", pod["metadata"].get("name", ""), is_pod=True)
    if not spec.get("serviceAccountName"):
        errors += _forbid_tokens(spec)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            image: str = container.get("image", "")
            if image != image.strip():
                why = "must not have leading or trailing whitespace"
                errors.append(invalid(f"spec.{kind}[{index}].image", image, why))
    return errors


def _validate_mirror(meta: Obj, spec: Obj) -> list[FieldError]:
    hashed = (meta.get("annotations") or {}).get(MIRROR)
    if hashed is None or spec.get("nodeName"):
        return []
    return [
        invalid(f"metadata.annotations[{MIRROR}]", hashed, "must set spec.nodeName if mirror pod annotation is set")
    ]


_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def _validate_deletion_cost(meta: Obj) -> list[FieldError]:
    cost = (meta.get("annotations") or {}).get(_DELETION_COST)
    if cost is None:
        return []
    number = whole_numbers.parse(cost)
    if number is not None and str(number) == cost and -(2**31) <= number <= _MAX_INT32:
        return []
    return [invalid(f"metadata.annotations[{_DELETION_COST}]", cost, "must be a 32bit integer")]


def _forbid_tokens(spec: Obj) -> list[FieldError]:
    why = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken", why)
        for index, volume in enumerate(spec.get("volumes") or ())
        for position, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def validate_new_pod(pod: Obj) -> list[FieldError]:
    spec: Obj = pod.get("spec") or {}
    errors: list[FieldError] = []
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors


def validate_pod_spec(spec: Obj, path: str, pod_name: str = "", *, is_pod: bool = False) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("terminationGracePeriodSeconds") is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes, broken = validate_volumes(spec.get("volumes") or (), f"{path}.volumes", pod_name)
    errors += broken
    if claims := spec.get("resourceClaims"):
        errors += _validate_claims(claims, f"{path}.resourceClaims")
    around = Surroundings(
        volumes,
        {claim.get("name", "") for claim in claims} - {""} if claims else (),
        spec.get("terminationGracePeriodSeconds"),
        spec.get("restartPolicy", ""),
        spec.get("hostUsers") is not False,
    )
    errors += _validate_all_containers(spec, around, path)
    if (resources := spec.get("resources")) is not None:
        errors += _validate_pod_resources(spec, resources, f"{path}.resources")
    if spec.get("hostNetwork"):
        errors += _validate_host_network(spec.get("containers") or (), f"{path}.containers", is_pod)
    errors += _validate_policies(spec, path)
    errors += _validate_placement(spec, path)
    errors += _validate_names(spec, path)
    errors += _validate_rest(spec, path)
    return errors


def _validate_all_containers(spec: Obj, around: Surroundings, path: str) -> list[FieldError]:
    regular: Sequence[Obj] = spec.get("containers") or ()
    errors = validate_containers(regular, around, f"{path}.containers")
    initial: Sequence[Obj] = spec.get("initContainers") or ()
    if initial:
        errors += validate_init_containers(initial, regular, around, f"{path}.initContainers")
    if ephemeral := spec.get("ephemeralContainers"):
        others = (*regular, *initial)
        errors += validate_ephemeral_containers(ephemeral, others, around, f"{path}.ephemeralContainers")
    return errors


def _validate_claims(claims: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            errors.append(required(f"{where}.name"))
        elif name in seen:
            errors.append(duplicate(f"{where}.name", name))
        else:
            errors += [invalid(f"{where}.name", name, why) for why in names.dns_label(name)]
        seen.add(name)
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
        if len(given) == 2:
            why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(where, in_go(claim, _CLAIM), why))
        if not given:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(where, in_go(claim, _CLAIM), why))
        for field in given:
            errors += [invalid(f"{where}.{field}", claim[field], why) for why in names.dns_subdomain(claim[field])]
    return errors


def _validate_pod_resources(spec: Obj, resources: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if resources.get("claims") is not None:
        errors.append(forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
    errors += validate_requirements(resources, path, (), validate_pod_level_name)
    containers: Sequence[Obj] = spec.get("containers") or ()
    totals: dict[str, Quantity] = {}
    for container in containers:
        for name, quantity in ((container.get("resources") or {}).get("requests") or {}).items():
            totals[name] = totals.get(name, ZERO) + amount(quantity)
    for name, total in totals.items():
        own = (resources.get("requests") or {}).get(name)
        if own is not None and total > amount(own):
            why = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{path}.requests[{name}]", own, why))
    limits = resources.get("limits") or {}
    for index, container in enumerate(containers):
        for name, quantity in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and amount(quantity) > amount(limits[name]):
                why = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(f"{path}.containers[{index}][{name}].limits", quantity, why))
    return errors


def _validate_host_network(containers: Sequence[Obj], path: str, is_pod: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            on_host = port.get("hostPort", 0)
            if (is_pod or on_host) and on_host != port.get("containerPort", 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid(f"{path}[{index}].ports[{position}].hostPort", on_host, why))
    return errors


def _validate_policies(spec: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, allowed in (("restartPolicy", _RESTART_POLICIES), ("dnsPolicy", _DNS_POLICIES)):
        if (value := spec.get(field, "")) not in allowed:
            where = f"{path}.{field}"
            errors.append(not_supported(where, value, allowed) if value else required(where))
    if selector := spec.get("nodeSelector"):
        errors += validate_labels(selector, f"{path}.nodeSelector")
    if (context := spec.get("securityContext")) is not None:
        errors += validate_pod_security(context, spec, f"{path}.securityContext")
    return errors


def _validate_placement(spec: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if affinity := spec.get("affinity"):
        errors += validate_affinity(affinity, f"{path}.affinity")
    if spec.get("dnsConfig") is not None or spec.get("dnsPolicy") == "None":
        errors += _validate_dns(spec, f"{path}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        where = f"{path}.readinessGates[{index}].conditionType"
        errors += [invalid(where, kind, why) for why in names.qualified_name(kind)]
    if gates := spec.get("schedulingGates"):
        errors += validate_gates(gates, f"{path}.schedulingGates")
    if constraints := spec.get("topologySpreadConstraints"):
        errors += validate_spread(constraints, f"{path}.topologySpreadConstraints")
    return errors + validate_host_users(spec, path)


def _validate_dns(spec: Obj, path: str) -> list[FieldError]:
    config: Obj | None = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", why)]
    config = config or {}
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    errors: list[FieldError] = []
    if len(servers) > 3:
        errors.append(invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        errors += [invalid(f"{path}.nameservers[{index}]", server, why) for why in names.ip(server)]
    if len(searches) > 32:
        errors.append(invalid(f"{path}.searches", searches, "must not have more than 32 search paths"))
    if len(" ".join(searches).encode()) > 2048:
        why = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, why))
    for index, search in enumerate(searches):
        domain = search.removesuffix(".")
        complaints = names.dns_subdomain_with_underscore(domain) if search != "." else ()
        errors += [invalid(f"{path}.searches[{index}]", domain, why) for why in complaints]
    return errors + [
        required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate(config.get("options") or ())
        if not option.get("name")
    ]


_NAME_RULES = (
    ("serviceAccountName", names.dns_subdomain),
    ("nodeName", names.dns_subdomain),
    ("hostname", names.dns_label),
    ("subdomain", names.dns_label),
    ("priorityClassName", names.dns_subdomain),
    ("runtimeClassName", names.dns_subdomain),
)


def _validate_names(spec: Obj, path: str) -> list[FieldError]:
    errors = _validate_hostname_override(spec, path) if spec.get("hostnameOverride") is not None else []
    for field, rule in _NAME_RULES:
        if (name := spec.get(field)) and (complaints := rule(name)):
            errors += [invalid(f"{path}.{field}", name, why) for why in complaints]
    return errors


def _validate_hostname_override(spec: Obj, path: str) -> list[FieldError]:
    name, where = spec["hostnameOverride"], f"{path}.hostnameOverride"
    errors: list[FieldError] = []
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            errors.append(forbidden(where, f"may not be specified when {field} is true"))
    if len(name.encode()) > 64:
        errors.append(too_long(where, 64))
    return errors + [invalid(where, name, why) for why in names.dns_subdomain(name)]


def _validate_rest(spec: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        errors += [invalid(f"{path}.activeDeadlineSeconds", deadline, w) for w in names.within(deadline, 1, _MAX_INT32)]
    if tolerations := spec.get("tolerations"):
        errors += validate_tolerations(tolerations, f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        errors += _validate_alias(alias, f"{path}.hostAliases[{index}]")
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in _PREEMPTION:
        errors.append(not_supported(f"{path}.preemptionPolicy", preemption, _PREEMPTION))
    for name, quantity in (spec.get("overhead") or {}).items():
        where = f"{path}.overhead.limits[{name}]"
        errors += validate_container_name(name, where) + validate_amount(name, quantity, where)
    if (system := spec.get("os")) is not None and (name := system.get("name", "")) not in ("linux", "windows"):
        where = f"{path}.os"
        errors.append(not_supported(where, name, ("linux", "windows")) if name else required(f"{where}.name"))
    return errors


def _validate_alias(alias: Obj, path: str) -> list[FieldError]:
    address = alias.get("ip", "")
    errors = [invalid(f"{path}.ip", address, why) for why in names.ip(address)]
    for index, host in enumerate(alias.get("hostnames") or ()):
        errors += [invalid(f"{path}.hostnames[{index}]", host, why) for why in names.dns_subdomain(host)]
    return errors
