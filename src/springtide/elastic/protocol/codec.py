# SPDX-License-Identifier: Apache-2.0
"""Converts between message dataclasses and frames; no other module does. Pure.

A frame's head is a JSON object: `type`, and each field of the dataclass under its own name. Fields are decoded by their
annotations; a message that does not fit ends the connection. A field that is None is left out. Two kinds of field are
special: bytes are the frame's payload, and `Words` are all fields of a head except its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, Final, Generic, TypeAlias, TypeVar

from springtide.elastic.protocol import wire
from springtide.elastic.shared.members import Address, Member

M = TypeVar("M")
Words: TypeAlias = Mapping[str, Any]
"""Any values that a program reports."""

Kind: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How a field is encoded, and how it is decoded."""


class Codec(Generic[M]):
    """All messages of one direction of one kind of connection."""

    def __init__(self, types: Mapping[str, type[M]], further: Mapping[str, Kind] | None = None) -> None:
        """`further` adds kinds of fields, by annotation."""
        self.types = types
        self._kinds = {**_KINDS, **(further or {})}
        self._names = {type_: name for name, type_ in types.items()}
        self._fields: dict[type[M], tuple[Field[Any], ...]] = {type_: fields(type_) for type_ in types.values()}  # type: ignore[arg-type]

    def encode(self, message: M) -> bytes:
        head, payload = self.head(message)
        return wire.encode(head.pop("type"), payload, **head)

    def decode(self, frame: wire.Frame) -> M | None:
        """None for a type that this direction does not have; RefusedError for an invalid message."""
        return self.read(frame.head, frame.payload)

    def head(self, message: M) -> tuple[dict[str, Any], bytes]:
        type_ = type(message)
        head: dict[str, Any] = {"type": self._names[type_]}
        payload = b""
        for field in self._fields[type_]:
            value = getattr(message, field.name)
            if field.type == "bytes":
                payload = value
            elif field.type == "Words":
                head |= {name: each for name, each in value.items() if name != "type"}
            elif value is not None:
                head[field.name] = self._kinds[str(field.type)][0](value)
        return head, payload

    def read(self, head: Mapping[str, Any], payload: bytes | bytearray = b"") -> M | None:
        type_ = self.types.get(str(head.get("type", "")))
        if type_ is None:
            return None
        return type_(**{field.name: self._read(field, head, payload) for field in self._fields[type_]})

    def _read(self, field: Field[Any], head: Mapping[str, Any], payload: bytes | bytearray) -> Any:
        if field.type == "bytes":
            return bytes(payload)
        if field.type == "Words":
            return {name: value for name, value in head.items() if name != "type"}
        if field.name not in head and field.default is not MISSING:
            return field.default
        try:
            return self._kinds[str(field.type)][1](head[field.name])
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise wire.RefusedError(f"{head.get('type')} lacks {field.name}, or has one of another kind") from error


def _written(value: Any) -> Any:
    if isinstance(value, Member):
        return [value.id, value.rank, value.host, value.local_rank, _written(value.addresses)]
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    return value


def _exactly(type_: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not type_:
            raise TypeError(f"{value!r} is no {type_.__name__}")
        return value

    return read


def _integer(value: Any) -> int:
    if not isinstance(value, int) or abs(value) >= wire.LARGEST:
        raise TypeError(f"{value!r} is no number")
    return value


def _addresses(given: Sequence[Sequence[Any]]) -> tuple[Address, ...]:
    return tuple((str(host), int(port)) for host, port in given)


def _members(given: Sequence[Sequence[Any]]) -> tuple[Member, ...]:
    return tuple(
        Member(_integer(id_), _integer(rank), str(host), _integer(local), _addresses(addresses))
        for id_, rank, host, local, addresses in given
    )


def _same(value: Any) -> Any:
    return value


_KINDS: Final[Mapping[str, Kind]] = {
    "bool": (_same, _exactly(bool)),
    "int": (_same, _integer),
    "int | None": (_same, lambda value: value if isinstance(value, int) else None),
    "str": (_same, _exactly(str)),
    "tuple[Address, ...]": (_written, _addresses),
    "tuple[Member, ...]": (_written, _members),
}
"""By the annotation of a field."""
