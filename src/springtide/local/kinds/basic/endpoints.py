# SPDX-License-Identifier: Apache-2.0
"""Endpoints: the addresses behind a service, in the older form that many clients still read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, invalid, required
from springtide.local.kinds import names
from springtide.local.kinds.basic.services_rules import validate_protocol, validate_reachable_ip
from springtide.local.kinds.columns import AGE, NAME, NONE, age_of, name_of
from springtide.local.kinds.strategy import Column, Obj, Strategy


def _default_endpoints(endpoints: Obj) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def _validate_endpoints(endpoints: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(field) or ()):
                errors += _validate_endpoint_address(address, f"{path}.{field}[{position}]")
        ports = subset.get("ports") or ()
        for position, port in enumerate(ports):
            errors += _validate_endpoint_port(port, len(ports) > 1, f"{path}.ports[{position}]")
    return errors


def _validate_endpoint_address(address: Obj, path: str) -> list[FieldError]:
    ip = address.get("ip", "")
    errors = [invalid(f"{path}.ip", ip, why) for why in names.ip(ip)]
    if host := address.get("hostname"):
        errors += [invalid(f"{path}.hostname", host, why) for why in names.dns_label(host)]
    if (node := address.get("nodeName")) is not None:
        errors += [invalid(f"{path}.nodeName", node, why) for why in names.dns_subdomain(node)]
    if errors and names.ip(ip):
        return [*errors, invalid(f"{path}.ip", ip, "must be a valid IP address")]
    return errors + validate_reachable_ip(ip, f"{path}.ip")


def _validate_endpoint_port(port: Obj, name_needed: bool, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if name := port.get("name"):
        errors += [invalid(f"{path}.name", name, why) for why in names.dns_label(name)]
    elif name_needed:
        errors.append(required(f"{path}.name"))
    number = port.get("port", 0)
    errors += [invalid(f"{path}.port", number, why) for why in names.port_number(number)]
    errors += validate_protocol(port.get("protocol", ""), f"{path}.protocol")
    if (application := port.get("appProtocol")) is not None:
        errors += [invalid(f"{path}.appProtocol", application, why) for why in names.qualified_name(application)]
    return errors


def _endpoints_cells(endpoints: Obj, now: str) -> Sequence[Any]:
    return name_of(endpoints), _endpoints_text(endpoints.get("subsets") or ()), age_of(endpoints, now)


def _endpoints_text(subsets: Sequence[Obj]) -> str:
    if not subsets:
        return NONE
    listed: list[str] = []
    for subset in subsets:
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            listed += addresses
        for port in ports or ():
            listed += [f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in addresses]
    text = ",".join(listed[:3])
    return f"{text} + {len(listed) - 3} more..." if len(listed) > 3 else text


ENDPOINTS = Strategy(
    default=_default_endpoints,
    validate=_validate_endpoints,
    columns=(
        NAME,
        Column(
            "Endpoints",
            description=(
                "The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to "
                "the IPs they share. A single address with multiple ports, some of which are ready and some of which "
                "are not (because they come from different containers) will result in the address being displayed in "
                "different subsets for the different ports. No address will appear in both Addresses and "
                "NotReadyAddresses in the same subset. Sets of addresses and ports that comprise a service."
            ),
        ),
        AGE,
    ),
    cells=_endpoints_cells,
)
