# SPDX-License-Identifier: Apache-2.0
"""EndpointSlices: the addresses behind a service, written by the endpoints controller and by users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, ip_address
from typing import Any

from springtide.api.field_errors import FieldError, duplicate, invalid, not_supported, required, too_many
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, UNSET, age_of, name_of
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Column, Obj, Strategy

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MAX_ENDPOINTS, _MAX_ADDRESSES, _MAX_PORTS, _MAX_HINTS = 1000, 100, 20000, 8
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def _default(endpoint_slice: Obj) -> None:
    for port in endpoint_slice.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def _prepare_create(endpoint_slice: Obj) -> None:
    for endpoint in endpoint_slice.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _prepare_update(new: Obj, old: Obj) -> None:
    _prepare_create(new)
    meta, before = new["metadata"], old["metadata"]
    if (meta.get("labels") or {}) != (before.get("labels") or {}):
        # Consumers follow the generation, and the labels name the service of a slice.
        meta["generation"] = before.get("generation", 0) + 1


# --------------------------------------------------------------------------------------------------------- validation


def _validate(endpoint_slice: Obj) -> list[FieldError]:
    kind = endpoint_slice.get("addressType", "")
    errors: list[FieldError] = []
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        errors.append(not_supported("addressType", kind, _ADDRESS_TYPES))
    return [
        *errors,
        *_validate_ports(endpoint_slice.get("ports") or ()),
        *_validate_endpoints(endpoint_slice.get("endpoints") or (), kind),
    ]


def _validate_ports(ports: Sequence[Obj]) -> list[FieldError]:
    if len(ports) > _MAX_PORTS:
        return [too_many("ports", len(ports), _MAX_PORTS)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name, protocol = f"ports[{index}]", port["name"], port["protocol"]
        if name:
            errors += [invalid(f"{path}.name", name, why) for why in names.dns_label(name)]
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        if protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
        if (application := port.get("appProtocol")) is not None:
            errors += [invalid(f"{path}.appProtocol", application, why) for why in names.qualified_name(application)]
    return errors


def _validate_endpoints(endpoints: Sequence[Obj], kind: str) -> list[FieldError]:
    if len(endpoints) > _MAX_ENDPOINTS:
        return [too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)]
    errors: list[FieldError] = []
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}]"
        errors += _validate_addresses(endpoint.get("addresses") or (), kind, f"{path}.addresses")
        if (node := endpoint.get("nodeName")) is not None:
            errors += [invalid(f"{path}.nodeName", node, why) for why in names.dns_subdomain(node)]
        if (hostname := endpoint.get("hostname")) is not None:
            errors += [invalid(f"{path}.hostname", hostname, why) for why in names.dns_label(hostname)]
        if hints := endpoint.get("hints"):
            errors += _validate_hints(hints, f"{path}.hints")
    return errors


def _validate_addresses(addresses: Sequence[str], kind: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not addresses:
        errors.append(required(path, "must contain at least 1 address"))
    elif len(addresses) > _MAX_ADDRESSES:
        errors.append(too_many(path, len(addresses), _MAX_ADDRESSES))
    for index, address in enumerate(addresses):
        if kind == "FQDN":
            errors += _validate_domain(address, f"{path}[{index}]")
        elif kind in ("IPv4", "IPv6"):
            errors += _validate_address(address, kind, path, index)
    return errors


def _validate_address(address: str, kind: str, path: str, index: int) -> list[FieldError]:
    field = f"{path}[{index}]"
    if complaints := names.ip(address):
        return [invalid(field, address, why) for why in complaints]
    parsed = ip_address(address)
    if kind == "IPv6" and str(parsed) != address:
        return [invalid(field, address, f'must be in canonical form ("{parsed}")')]
    errors: list[FieldError] = []
    if f"IPv{parsed.version}" != kind:
        errors.append(invalid(path, address, f"must be an {kind} address"))
    return errors + validate_reachable(address, field)


def validate_reachable(address: str, path: str) -> list[FieldError]:
    """An endpoint's address must not be unspecified, loopback, link-local or link-local multicast."""
    parsed = ip_address(address)
    errors: list[FieldError] = []
    if parsed.is_unspecified:
        errors.append(invalid(path, address, f"may not be unspecified ({address})"))
    if parsed.is_loopback:
        errors.append(invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if parsed.is_link_local:
        errors.append(invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    neighbours = (
        parsed.packed[:3] == b"\xe0\0\0" if isinstance(parsed, IPv4Address) else parsed.packed[:2] == b"\xff\x02"
    )
    if neighbours:
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(path, address, detail))
    return errors


def _validate_domain(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if complaints := names.dns_subdomain(name):
        return [invalid(path, name, ",".join(complaints))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        if complaints := names.dns_label(label):
            return [invalid(path, label, ",".join(complaints))]
    return []


def _validate_hints(hints: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, rule in (("forZones", names.label_value), ("forNodes", names.dns_subdomain)):
        entries = hints.get(field) or ()
        if len(entries) > _MAX_HINTS:
            return [*errors, too_many(f"{path}.{field}", len(entries), _MAX_HINTS)]
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            name = entry.get("name", "")
            if name in seen:
                errors.append(duplicate(f"{path}.{field}[{index}].name", name))
            seen.add(name)
            errors += [invalid(f"{path}.{field}[{index}].name", name, why) for why in rule(name)]
    return errors


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    kind = new.get("addressType", "")
    return [] if kind == old.get("addressType", "") else [invalid("addressType", kind, IMMUTABLE)]


def _warnings(endpoint_slice: Obj) -> list[str]:
    found: list[str] = []
    meta = endpoint_slice["metadata"]
    if endpoint_slice.get("addressType") == "FQDN":
        return [] if meta.get("resourceVersion") else ["spec.addressType: FQDN endpoints are deprecated"]
    if (meta.get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return found
    for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        for position, address in enumerate(endpoint.get("addresses") or ()):
            canonical = str(ip_address(address))
            if ":" in address and canonical != address:
                found.append(
                    f'endpoints[{index}].addresses[{position}]: IPv6 address "{address}" should be in RFC 5952 '
                    f'canonical format ("{canonical}")'
                )
    return found


# -------------------------------------------------------------------------------------------------------------- table

_COLUMNS = (
    NAME,
    Column(
        "AddressType",
        description="addressType specifies the type of address carried by this EndpointSlice. All addresses in this "
        "slice must be the same type. This field is immutable after creation. The following address types are "
        "currently supported: * IPv4: Represents an IPv4 Address. * IPv6: Represents an IPv6 Address. * FQDN: "
        "Represents a Fully Qualified Domain Name. (Deprecated) The EndpointSlice controller only generates, and "
        'kube-proxy only processes, slices of addressType "IPv4" and "IPv6". No semantics are defined for the "FQDN" '
        "type.",
    ),
    Column(
        "Ports",
        description="ports specifies the list of network ports exposed by each endpoint in this slice. Each port must "
        "have a unique name. Each slice may include a maximum of 100 ports. Services always have at least 1 port, so "
        "EndpointSlices generated by the EndpointSlice controller will likewise always have at least 1 port. "
        "EndpointSlices used for other purposes may have an empty ports list.",
    ),
    Column(
        "Endpoints",
        description="endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 "
        "endpoints.",
    ),
    AGE,
)


def _first_three(items: Iterable[str]) -> str:
    listed = list(items)
    if not listed:
        return UNSET
    more = f" + {len(listed) - 3} more..." if len(listed) > 3 else ""
    return ",".join(listed[:3]) + more


def _port_text(port: Obj) -> str:
    number, name = port.get("port"), port.get("name")
    if number is not None:
        return str(number)
    return "*" if name is None else str(name)


def _cells(endpoint_slice: Obj, now: str) -> Sequence[Any]:
    endpoints = endpoint_slice.get("endpoints") or ()
    return (
        name_of(endpoint_slice),
        endpoint_slice.get("addressType", ""),
        _first_three(_port_text(port) for port in endpoint_slice.get("ports") or ()),
        _first_three(address for endpoint in endpoints for address in endpoint.get("addresses") or ()),
        age_of(endpoint_slice, now),
    )


ENDPOINT_SLICE = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_update=_validate_update,
    has_generation=True,
    columns=_COLUMNS,
    cells=_cells,
    warnings=_warnings,
)
