# SPDX-License-Identifier: Apache-2.0
"""Types that CEL rules are checked against: CEL's own, and those described by a CRD schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from springtide.local.schema.cel.cost import Entry, Estimate, Size
from springtide.local.schema.cel.syntax import RESERVED


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    name: str
    params: tuple[Type, ...] = ()
    fields: Mapping[str, tuple[str, Type]] = field(default_factory=dict)
    """Fields of an object: escaped name -> (name in JSON, type)."""
    list_type: str = "atomic"
    list_keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


Variables = dict[str, Any]
Run = Callable[[Variables], Any]


class Typed(NamedTuple):
    """A compiled expression: its type, its closure and its cost estimate."""

    type: Type
    run: Run
    estimate: Estimate = Estimate()
    bare: Run | None = None
    """For a variable and its fields: `run` without the unit that the variable itself costs. cel-go does not charge that
    unit where the value is an index or a branch of `?:`."""
    constant: bool = False
    """Whether `run` needs no variables and costs nothing."""

    @property
    def resolve(self) -> Run:
        return self.bare or self.run


class Local(NamedTuple):
    """A variable: its type, and what is known about its size."""

    type: Type
    path: tuple[str, ...]
    size: Size | None = None
    entry: Entry | None = None


INT, UINT, DOUBLE = Type("int"), Type("uint"), Type("double")
STRING, BOOL, BYTES, NULL = Type("string"), Type("bool"), Type("bytes"), Type("null")
TIMESTAMP, DURATION = Type("timestamp"), Type("duration")
DYN, TYPE = Type("dyn"), Type("type")
QUANTITY, URL, SEMVER = Type("kubernetes.Quantity"), Type("kubernetes.URL"), Type("kubernetes.Semver")
IP, CIDR, FORMAT = Type("net.IP"), Type("net.CIDR"), Type("kubernetes.NamedFormat")

NAMED: Final = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bool": BOOL,
    "bytes": BYTES,
    "null": NULL,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "dyn": DYN,
    "type": TYPE,
    "quantity": QUANTITY,
    "url": URL,
    "semver": SEMVER,
    "ip": IP,
    "cidr": CIDR,
    "format": FORMAT,
}
_NULLABLE: Final = frozenset(
    {"object", "timestamp", "duration", "optional_type", *(t.name for t in (QUANTITY, URL, SEMVER, IP, CIDR, FORMAT))}
)


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional_type", (inner,))


def is_scalar(type_: Type) -> bool:
    """Whether values of the type always have the size one."""
    if type_.name == "optional_type":
        return is_scalar(type_.params[0])
    return type_ in (BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT)


def is_variable(type_: Type) -> bool:
    """Whether the type is a type variable such as `A` or `B` in a signature."""
    return len(type_.name) == 1


def unify(wanted: Type, found: Type, bound: dict[str, Type]) -> bool:
    """Whether a value of type `found` is accepted for `wanted`; binds type variables."""
    if is_variable(wanted):
        known = bound.get(wanted.name)
        if known is None or known is DYN or (known is NULL and found.name in _NULLABLE):
            bound[wanted.name] = found
            return True
        return unify(known, found, bound)
    if wanted is DYN or found is DYN:
        return True
    if wanted is NULL or found is NULL:
        other = found if wanted is NULL else wanted
        return wanted is found or other.name in _NULLABLE
    if wanted.name != found.name or len(wanted.params) != len(found.params):
        return False
    if wanted.name == "object":
        return wanted is found
    return all(unify(inner, other, bound) for inner, other in zip(wanted.params, found.params, strict=True))


def resolved(type_: Type, bound: dict[str, Type]) -> Type:
    """The type with its variables replaced by their bindings."""
    if is_variable(type_):
        return bound.get(type_.name, DYN)
    if not type_.params:
        return type_
    return Type(type_.name, tuple(resolved(inner, bound) for inner in type_.params))


_ACCESSIBLE = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")


def escaped(name: str) -> str | None:
    """A property's name as written in rules; None if rules cannot refer to it."""
    if _ACCESSIBLE.fullmatch(name) is None:
        return None
    if name in RESERVED:
        return f"__{name}__"
    text = name.replace("__", "__underscores__")
    return text.replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")


_FORMATS: Final = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_SCALARS: Final = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
META: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    },
}


def from_schema(schema: Mapping[str, Any], is_resource: bool = False) -> Type | None:
    """The type described by a schema; None for a position without type, which is invisible to rules."""
    if schema.get("x-kubernetes-int-or-string"):
        return DYN
    match schema.get("type"):
        case "array":
            return _list_type(schema)
        case "object":
            return _object_type(schema, is_resource)
        case "string":
            return _FORMATS.get(schema.get("format", ""), STRING)
        case other:
            return _SCALARS.get(other or "")


def _list_type(schema: Mapping[str, Any]) -> Type | None:
    items = schema.get("items")
    item = from_schema(items, items.get("x-kubernetes-embedded-resource", False)) if items else None
    if item is None:
        return None
    return Type(
        "list",
        (item,),
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
    )


def _object_type(schema: Mapping[str, Any], is_resource: bool) -> Type | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        value = from_schema(additional, additional.get("x-kubernetes-embedded-resource", False))
        return None if value is None else map_of(STRING, value)
    properties = dict(schema.get("properties", {}))
    if is_resource:
        properties.update(META)
    fields: dict[str, tuple[str, Type]] = {}
    for name, inner in properties.items():
        key, type_ = escaped(name), from_schema(inner, inner.get("x-kubernetes-embedded-resource", False))
        if key is not None and type_ is not None:
            fields[key] = (name, type_)
    return Type("object", fields=fields)
