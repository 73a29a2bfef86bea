# SPDX-License-Identifier: Apache-2.0
"""Validation of Services, after defaults are filled in and addresses allocated.

`services.py` puts these into the strategy. The allocator is in the API server; here only the consistency of the fields
with each other and with the stored object is checked. The cluster has one address family, IPv4.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address, ip_network

from springtide.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.metadata import validate_labels
from springtide.local.kinds.strategy import Obj

FAMILIES = ("IPv4", "IPv6")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_MAX_AFFINITY = 86400
_RANGES_ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges"


def is_headless(spec: Obj) -> bool:
    addresses: list[str] = spec.get("clusterIPs") or []
    return addresses == ["None"]


def is_external(spec: Obj) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Obj) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def validate_service(service: Obj) -> list[FieldError]:
    spec: Obj = service.get("spec") or {}
    ports: list[Obj] = spec.get("ports") or []
    errors: list[FieldError] = []
    if not ports and not is_headless(spec) and spec.get("type") != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _validate_type_fields(spec)
    errors += _validate_ports(ports)
    if selector := spec.get("selector"):
        errors += validate_labels(selector, "spec.selector")
    errors += _validate_affinity(spec)
    if spec.get("type") != "ExternalName":
        errors += validate_addresses(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        errors += validate_reachable_ip(address, f"spec.externalIPs[{index}]")
    if (kind := spec.get("type", "")) not in _TYPES:
        errors.append(not_supported("spec.type", kind, _TYPES) if kind else required("spec.type"))
    errors += _validate_port_numbers(kind, ports)
    errors += _validate_load_balancer(service, spec)
    errors += _validate_traffic(spec)
    return errors


def _validate_type_fields(spec: Obj) -> list[FieldError]:
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        return [invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")]
    if kind != "ExternalName":
        return []
    errors = [
        forbidden(f"spec.{field}", "may not be set for ExternalName services")
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(field)
    ]
    target = spec.get("externalName", "").removesuffix(".")
    if not target:
        return [*errors, required("spec.externalName")]
    return errors + [invalid("spec.externalName", target, why) for why in names.dns_subdomain(target)]


def _validate_ports(ports: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        errors += _validate_port_name(port.get("name", ""), len(ports) > 1, seen, f"{path}.name")
        number = port.get("port", 0)
        errors += [invalid(f"{path}.port", number, why) for why in names.port_number(number)]
        errors += validate_protocol(port.get("protocol", ""), f"{path}.protocol")
        errors += validate_port_or_name(port.get("targetPort", 0), f"{path}.targetPort")
        if (application := port.get("appProtocol")) is not None:
            errors += [invalid(f"{path}.appProtocol", application, why) for why in names.qualified_name(application)]
    return errors


def _validate_port_name(name: str, needed: bool, seen: set[str], path: str) -> list[FieldError]:
    if not name:
        return [required(path)] if needed else []
    errors = [invalid(path, name, why) for why in names.dns_label(name)]
    if name in seen:
        errors.append(duplicate(path, name))
    seen.add(name)
    return errors


def validate_protocol(protocol: str, path: str) -> list[FieldError]:
    if protocol in PROTOCOLS:
        return []
    return [not_supported(path, protocol, PROTOCOLS) if protocol else required(path)]


def validate_port_or_name(port: int | str, path: str) -> list[FieldError]:
    rule = names.port_number(port) if isinstance(port, int) else names.port_name(port)
    return [invalid(path, port, why) for why in rule]


def _validate_port_numbers(kind: str, ports: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        errors += [forbidden(f"spec.ports[{i}].nodePort", why) for i, port in enumerate(ports) if port.get("nodePort")]
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        if not (number := port.get("nodePort")):
            continue
        if (port.get("protocol", ""), number) in seen:
            errors.append(duplicate(f"spec.ports[{index}].nodePort", number))
        seen.add((port.get("protocol", ""), number))
    return errors + _validate_unique_ports(ports)


def _validate_unique_ports(ports: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            # kube-apiserver prints its internal struct here, with Go field names.
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            errors.append(duplicate(f"spec.ports[{index}]", shown))
        seen.add(key)
    return errors


def _validate_affinity(spec: Obj) -> list[FieldError]:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    if affinity not in ("ClientIP", "None"):
        path = "spec.sessionAffinity"
        return [not_supported(path, affinity, ("ClientIP", "None")) if affinity else required(path)]
    path = "spec.sessionAffinityConfig"
    if affinity == "None":
        return [forbidden(path, "must not be set when session affinity is None")] if config is not None else []
    timeout = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
    if timeout is None:
        return [required(f"{path}.clientIP.timeoutSeconds", "when session affinity type is ClientIP")]
    if 0 < timeout <= _MAX_AFFINITY:
        return []
    why = f"must be greater than 0 and less than {_MAX_AFFINITY}"
    return [invalid(f"{path}.clientIP.timeoutSeconds", timeout, why)]


def validate_addresses(spec: Obj) -> list[FieldError]:
    """Addresses, families and policy must be consistent; also checked before allocation."""
    addresses: list[str] = spec.get("clusterIPs") or []
    errors = _validate_first_address(spec.get("clusterIP", ""), addresses)
    errors += _validate_families(spec)
    malformed = _validate_address_list(addresses)
    errors += malformed
    if len(addresses) > 2:
        errors.append(invalid("spec.clusterIPs", addresses, "may only hold up to 2 values"))
    if malformed or is_headless(spec):
        return errors
    if len(addresses) > 1 and len({_family_of(address) for address in addresses}) < 2:
        errors.append(invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family"))
    for index, (address, family) in enumerate(zip(addresses, spec.get("ipFamilies") or (), strict=False)):
        if family in FAMILIES and _family_of(address) != family:
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"spec.clusterIPs[{index}]", address, why))
    return errors


def _validate_first_address(address: str, addresses: list[str]) -> list[FieldError]:
    path = "spec.clusterIPs"
    if not address:
        return [invalid(path, addresses, "must be empty when `clusterIP` is not specified")] if addresses else []
    if not addresses:
        return [required(path)]
    return [] if addresses[0] == address else [invalid(path, addresses, "first value must match `clusterIP`")]


def _validate_families(spec: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        path = f"spec.ipFamilies[{index}]"
        if family not in FAMILIES:
            errors.append(not_supported(path, family, FAMILIES))
        if family in seen:
            errors.append(duplicate(path, family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    return errors


def _validate_address_list(addresses: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                errors.append(invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
            continue
        errors += [invalid(f"spec.clusterIPs[{index}]", address, why) for why in names.ip(address)]
    return errors


def _family_of(address: str) -> str:
    return "IPv6" if isinstance(ip_address(address), IPv6Address) else "IPv4"


def validate_reachable_ip(address: str, path: str) -> list[FieldError]:
    """Validate an address that receives traffic: of an endpoint, or an external one."""
    if complaints := names.ip(address):
        return [invalid(path, address, why) for why in complaints]
    ip = ip_address(address)
    errors: list[FieldError] = []
    if ip.is_unspecified:
        errors.append(invalid(path, address, f"may not be unspecified ({address})"))
    if ip.is_loopback:
        errors.append(invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if ip.is_link_local:
        errors.append(invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if any(ip in ip_network(net) for net in ("224.0.0.0/24", "ff02::/16") if ip_network(net).version == ip.version):
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(path, address, why))
    return errors


def _validate_load_balancer(service: Obj, spec: Obj) -> list[FieldError]:
    balanced = spec.get("type") == "LoadBalancer"
    errors = _validate_source_ranges(service, spec, balanced)
    if balanced:
        if spec.get("allocateLoadBalancerNodePorts") is None:
            errors.append(required("allocateLoadBalancerNodePorts"))
        if (name := spec.get("loadBalancerClass")) is not None:
            errors += [invalid("spec.loadBalancerClass", name, why) for why in names.qualified_name(name)]
        return errors
    for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
        if spec.get(field) is not None:
            errors.append(forbidden(f"spec.{field}", _ONLY_LOAD_BALANCER))
    return errors


def _validate_source_ranges(service: Obj, spec: Obj, balanced: bool) -> list[FieldError]:
    annotations = service["metadata"].get("annotations") or {}
    if ranges := spec.get("loadBalancerSourceRanges"):
        pairs = [(f"spec.LoadBalancerSourceRanges[{index}]", text.strip()) for index, text in enumerate(ranges)]
        root = "spec.LoadBalancerSourceRanges"
    elif (joined := annotations.get(_RANGES_ANNOTATION)) is not None:
        root = f"metadata.annotations[{_RANGES_ANNOTATION}]"
        pairs = [(root, text.strip()) for text in joined.split(",")] if joined.strip() else []
    else:
        return []
    errors = [] if balanced else [forbidden(root, _ONLY_LOAD_BALANCER)]
    return errors + [invalid(path, text, why) for path, text in pairs for why in validate_cidr(text)]


def validate_cidr(text: str) -> Iterable[str]:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)
    try:
        ip_network(text)
    except ValueError:
        return ("must not have bits set beyond the prefix length",)
    return () if "/" in text else ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)


def _validate_traffic(spec: Obj) -> list[FieldError]:
    errors = _validate_external_policy(spec) + _validate_health_check(spec)
    internal = spec.get("internalTrafficPolicy")
    if internal is None:
        if spec.get("type") in ("ClusterIP", "LoadBalancer", "NodePort"):
            errors.append(required("spec.internalTrafficPolicy"))
    elif internal not in ("Cluster", "Local"):
        errors.append(not_supported("spec.internalTrafficPolicy", internal, ("Cluster", "Local")))
    distribution = spec.get("trafficDistribution")
    allowed = ("PreferClose", "PreferSameZone", "PreferSameNode")
    if distribution is not None and distribution not in allowed:
        errors.append(not_supported("spec.trafficDistribution", distribution, allowed))
    return errors


def _validate_external_policy(spec: Obj) -> list[FieldError]:
    path, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy", "")
    if not is_external(spec):
        return [invalid(path, policy, "may only be set for externally-accessible services")] if policy else []
    if not policy:
        return [required(path)]
    return [] if policy in ("Cluster", "Local") else [not_supported(path, policy, ("Cluster", "Local"))]


def _validate_health_check(spec: Obj) -> list[FieldError]:
    path, port = "spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0)
    if not needs_health_check(spec):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        return [invalid(path, port, why)] if port else []
    return [invalid(path, port, why) for why in names.port_number(port)] if port else [required(path)]


def validate_service_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors: list[FieldError] = []
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        errors += _validate_address_change(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            errors.append(invalid("spec.loadBalancerClass", name, "may not change once set"))
    both_probed = needs_health_check(spec) and needs_health_check(before)
    if both_probed and spec.get("healthCheckNodePort", 0) != before.get("healthCheckNodePort", 0):
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors


def _validate_address_change(spec: Obj, before: Obj) -> list[FieldError]:
    if is_headless(spec) and is_headless(before):
        return []
    addresses: list[str] = spec.get("clusterIPs") or []
    stored: list[str] = before.get("clusterIPs") or []
    errors: list[FieldError] = []
    if stored and not addresses:
        errors.append(invalid("spec.clusterIPs[0]", addresses, "primary clusterIP can not be unset"))
    for index, (address, was) in enumerate(zip(addresses, stored, strict=False)):
        if address != was and (index == 0 or len(addresses) == len(stored)):
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, "may not change once set"))
    families, had = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if is_headless(spec) == is_headless(before) and families[:1] != had[:1]:
        errors.append(invalid("spec.ipFamilies[0]", families, "may not change once set"))
    return errors


def validate_service_status(new: Obj, old: Obj) -> list[FieldError]:
    ingress = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    path = "status.loadBalancer.ingress"
    if ingress and (new.get("spec") or {}).get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors: list[FieldError] = []
    for index, entry in enumerate(ingress):
        errors += _validate_ingress(entry, f"{path}[{index}]")
    return errors


def _validate_ingress(entry: Obj, path: str) -> list[FieldError]:
    address, mode, host = entry.get("ip", ""), entry.get("ipMode"), entry.get("hostname", "")
    errors = [invalid(f"{path}.ip", address, why) for why in names.ip(address)] if address else []
    if mode is None:
        if address:
            errors.append(required(f"{path}.ipMode", "must be specified when `ip` is set"))
    elif not address:
        errors.append(forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set"))
    elif mode not in ("Proxy", "VIP"):
        errors.append(not_supported(f"{path}.ipMode", mode, ("Proxy", "VIP")))
    if host:
        errors += [invalid(f"{path}.hostname", host, why) for why in names.dns_subdomain(host)]
        if not names.ip(host):
            errors.append(invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address"))
    return errors
