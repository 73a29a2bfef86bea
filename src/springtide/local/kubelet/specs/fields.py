# SPDX-License-Identifier: Apache-2.0
"""A pod's own fields and amounts as text: `fieldRef` and `resourceFieldRef`, for variables and downwardAPI files.

Limits that a container does not set default to the node's allocatable resources, as in Kubernetes. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.api import quantity

_DEFAULTED = ("cpu", "memory", "ephemeral-storage")


class FieldError(ValueError):
    """A reference to a field that a pod does not have; the message is kubelet's."""


def field(pod: Mapping[str, Any], path: str) -> str:
    """The value of a fieldRef in the metadata, for a file or a variable."""
    metadata = pod["metadata"]
    base, bracket, rest = path.partition("['")
    if bracket and rest.endswith("']"):
        return _entry(metadata, path, base, rest[:-2])
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata.get(path.removeprefix("metadata."), ""))
        case "metadata.labels" | "metadata.annotations":
            return _lines(metadata.get(path.removeprefix("metadata.")) or {})
    raise FieldError(f"unsupported fieldPath: {path}")


def _entry(metadata: Mapping[str, Any], path: str, base: str, key: str) -> str:
    if base not in ("metadata.annotations", "metadata.labels"):
        raise FieldError(f'fieldPath "{path}" does not support subscript')
    return str((metadata.get(base.removeprefix("metadata.")) or {}).get(key, ""))


def _lines(entries: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={_quoted(entries[key])}" for key in sorted(entries))


_ESCAPES = {
    '"': '\\"',
    "\\": r"\\",
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}


def _quoted(text: str) -> str:
    """A quoted string in Go's syntax, which readers of these files can parse."""
    return '"' + "".join(_ESCAPES.get(char) or (char if char.isprintable() else _escaped(char)) for char in text) + '"'


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def runtime_field(pod: Mapping[str, Any], path: str, address: str, host_ip: str) -> str:
    """The value of a variable's fieldRef: of the metadata, or of fields that only the node knows."""
    match path:
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(pod["spec"].get(path.removeprefix("spec."), ""))
        case "status.hostIP" | "status.hostIPs":
            return host_ip
        case "status.podIP" | "status.podIPs":
            return address
    return field(pod, path)


def amount(container: Mapping[str, Any], reference: Mapping[str, Any], allocatable: Mapping[str, str]) -> str:
    """The value of a resourceFieldRef, in units of its divisor and rounded up."""
    wanted = str(reference.get("resource", ""))
    kind, _, name = wanted.partition(".")
    if kind not in ("limits", "requests") or not (name in _DEFAULTED or name.startswith("hugepages-")):
        raise FieldError(f"unsupported container resource : {wanted}")
    found = quantity.parse(str(_amounts(container, kind, allocatable).get(name, "0")))
    divisor = quantity.parse(str(reference.get("divisor") or "0")) or quantity.of(1)
    if name == "cpu":
        return str(-(-found.milli // divisor.milli))
    return str(-(-found.value // divisor.value))


def _amounts(container: Mapping[str, Any], kind: str, allocatable: Mapping[str, str]) -> Mapping[str, Any]:
    given = (container.get("resources") or {}).get(kind) or {}
    if kind == "requests":
        return given
    whole_node = {name: allocatable[name] for name in _DEFAULTED if name in allocatable}
    return whole_node | {name: text for name, text in given.items() if quantity.parse(str(text))}


def container_named(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    spec = pod["spec"]
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        if container["name"] == name:
            found: Mapping[str, Any] = container
            return found
    raise FieldError(f"container {name} not found")
