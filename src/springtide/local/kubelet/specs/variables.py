# SPDX-License-Identifier: Apache-2.0
"""A container's environment variables: services, envFrom, env, in kubelet's order of precedence.

In increasing precedence: what the runtime sets (PATH, HOSTNAME, HOME, TERM), devices, services, envFrom, env. Values in
`env` may refer to everything defined before them. Pure: configMaps and secrets are passed in as functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from springtide.local.kubelet.specs import env_files, fields
from springtide.local.kubelet.specs.expansion import LONGEST, TooLongError, expand

Data = Mapping[str, str | bytes]
Find = Callable[[str], Data | None]
"""The data of a configMap (without its `binaryData`) or secret of the pod's namespace, by name."""

STANDARD_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class VariableError(ValueError):
    """A variable without a valid value; the message is kubelet's."""


@dataclass(frozen=True, slots=True)
class World:
    """What variables may refer to besides the pod itself."""

    config_map: Find
    secret: Find
    file: Callable[[str, str], str]
    """The text of a file by volume and path. VariableError when there is none."""
    services: Mapping[str, str]
    address: str
    host_ip: str
    allocatable: Mapping[str, str]


def of_container(pod: Mapping[str, Any], container: Mapping[str, Any], world: World) -> dict[str, str]:
    """The variables of the pod's spec, and those of services. VariableError where a reference cannot be resolved."""
    found: dict[str, str] = {}
    room = LONGEST - _length(world.services)
    for source in container.get("envFrom") or ():
        added = _from_source(source, world)
        room = _room_after(added, room)
        found |= added
    for variable in container.get("env") or ():
        name, value = variable["name"], variable.get("value") or ""
        if value:
            value = _expanded(name, value, found, world)
        elif variable.get("valueFrom"):
            value = _value_from(pod, container, variable["valueFrom"], world)
        if value is not None:
            added = {name: _text(name, value)}
            room = _room_after(added, room)
            found |= added
    return dict(world.services) | found


def _expanded(name: str, value: str, found: Mapping[str, str], world: World) -> str:
    try:
        return expand(value, found, world.services)
    except TooLongError as error:
        raise VariableError(f"the value of variable {name} is too long: {error}") from None


def _room_after(added: Mapping[str, str], room: int) -> int:
    """Checked after every variable: a few short ones that contain each other can expand to gigabytes."""
    left = room - _length(added)
    if left < 0:
        raise VariableError(
            f"the container's variables have more than {LONGEST} characters together, and no program starts with so "
            "many; mount long values as files instead"
        )
    return left


def _length(variables: Mapping[str, str]) -> int:
    """Characters of all variables, including the `=` after each name and the zero byte after each value."""
    return sum(len(name) + len(value) + 2 for name, value in variables.items())


def _from_source(source: Mapping[str, Any], world: World) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    if reference := source.get("configMapRef"):
        data = _data("configmap", reference, world.config_map)
    else:
        data = _data("secret", source.get("secretRef") or {}, world.secret)
    return {f"{prefix}{key}": _text(f"{prefix}{key}", value) for key, value in (data or {}).items()}


def _data(kind: str, reference: Mapping[str, Any], find: Find) -> Data | None:
    name = reference.get("name") or ""
    data = find(name)
    if data is None and not reference.get("optional"):
        raise VariableError(f'{kind} "{name}" not found')
    return data


def _value_from(
    pod: Mapping[str, Any], container: Mapping[str, Any], source: Mapping[str, Any], world: World
) -> str | bytes | None:
    """None for a missing optional source: the variable is left out then."""
    try:
        if reference := source.get("fieldRef"):
            return fields.runtime_field(pod, reference["fieldPath"], world.address, world.host_ip)
        if reference := source.get("resourceFieldRef"):
            other = reference.get("containerName")
            return fields.amount(
                fields.container_named(pod, other) if other else container, reference, world.allocatable
            )
    except fields.FieldError as error:
        raise VariableError(str(error)) from None
    if reference := source.get("configMapKeyRef"):
        return _key(pod, "ConfigMap", reference, world.config_map)
    if reference := source.get("secretKeyRef"):
        return _key(pod, "Secret", reference, world.secret)
    if reference := source.get("fileKeyRef"):
        return _from_file(reference, world)
    raise VariableError("a variable's valueFrom names no source that this node knows")


def _key(pod: Mapping[str, Any], kind: str, reference: Mapping[str, Any], find: Find) -> str | bytes | None:
    data = _data(kind.lower(), reference, find)
    if data is None:
        return None
    key = reference["key"]
    if key not in data:
        if reference.get("optional"):
            return None
        namespace = pod["metadata"]["namespace"]
        raise VariableError(f"couldn't find key {key} in {kind} {namespace}/{reference.get('name') or ''}")
    return data[key]


def _from_file(reference: Mapping[str, Any], world: World) -> str | None:
    text = world.file(reference["volumeName"], reference["path"])
    try:
        value = env_files.value_of(text, reference["key"])
    except env_files.EnvFileError as error:
        raise VariableError(f"couldn't parse env file: {error}") from None
    if value:
        return value
    if reference.get("optional"):
        return None
    raise VariableError(f'environment variable key "{reference["key"]}" not found in file "{reference["path"]}"')


def _text(name: str, value: str | bytes) -> str:
    """A valid value of a variable: text without a zero byte, which would end the variable."""
    try:
        text = value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        raise VariableError(f"the value of variable {name} is not UTF-8 text; mount it as a file instead") from None
    if "\0" in text:
        raise VariableError(f"the value of variable {name} holds a zero byte; mount it as a file instead")
    return text


def search_path(prefixes: Iterable[str]) -> str:
    """PATH: the environment's own programs first, the built-in kubectl last, used only where no other is installed."""
    return ":".join(dict.fromkeys((*(f"{prefix}/bin" for prefix in prefixes), *STANDARD_PATH, "/run/springtide/bin")))


# Services


class ServicePort(msgspec.Struct, frozen=True):
    port: int
    name: str = ""
    protocol: str = "TCP"


class ServiceSpec(msgspec.Struct, frozen=True, rename={"cluster_ip": "clusterIP"}):
    cluster_ip: str = ""
    ports: tuple[ServicePort, ...] = ()


class ServiceName(msgspec.Struct, frozen=True):
    name: str
    namespace: str


class Service(msgspec.Struct, frozen=True):
    """The fields of a service that become variables; every agent keeps all services in memory."""

    metadata: ServiceName
    spec: ServiceSpec


def of_services(services: Iterable[Service]) -> dict[str, str]:
    """The addresses of services as variables; services without a cluster IP have none.

    VariableError where they exceed the limit of a container, in most cases before they are built.
    """
    found = [service for service in services if service.spec.cluster_ip not in ("", "None") and service.spec.ports]
    if sum(map(_least_length, found)) > LONGEST:
        raise _too_many(found)
    variables: dict[str, str] = {}
    for service in sorted(found, key=lambda service: service.metadata.name):
        variables |= _of_service(service.metadata.name, service.spec.cluster_ip, service.spec.ports)
    if _length(variables) > LONGEST:
        raise _too_many(found)
    return variables


def _too_many(services: Iterable[Service]) -> VariableError:
    largest = max(services, key=_least_length)
    return VariableError(
        f"the variables of the namespace's services have more than {LONGEST} characters together, and no program "
        f'starts with so many; service "{largest.metadata.name}" has {len(largest.spec.ports)} ports. Set '
        "enableServiceLinks: false in the pod's spec to do without these variables"
    )


_OF_A_PORT = len("_PORT_1_TCP=tcp://:1" + "_PORT_1_TCP_PROTO=tcp" + "_PORT_1_TCP_PORT=1" + "_PORT_1_TCP_ADDR=") + 4


def _least_length(service: Service) -> int:
    """A lower bound: the length of the four variables of each port, without iterating over the ports."""
    once = 4 * len(service.metadata.name) + 2 * len(service.spec.cluster_ip) + _OF_A_PORT
    return len(service.spec.ports) * once


def _of_service(name: str, address: str, ports: Sequence[ServicePort]) -> dict[str, str]:
    prefix = _as_name(name)
    first = f"{prefix}_SERVICE_PORT"
    variables = {f"{prefix}_SERVICE_HOST": address, first: str(ports[0].port)}
    variables |= {f"{first}_{_as_name(port.name)}": str(port.port) for port in ports if port.name}
    host = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        protocol = port.protocol.lower()
        url = f"{protocol}://{host}:{port.port}"
        if index == 0:
            variables[f"{prefix}_PORT"] = url
        link = f"{prefix}_PORT_{port.port}_{port.protocol.upper()}"
        variables |= {link: url, f"{link}_PROTO": protocol, f"{link}_PORT": str(port.port), f"{link}_ADDR": address}
    return variables


def _as_name(name: str) -> str:
    return name.replace("-", "_").upper()
