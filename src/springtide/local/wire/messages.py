# SPDX-License-Identifier: Apache-2.0
"""Readers of protobuf messages, compiled from the schema's `Node` graph.

A `Message` holds one reader per wire tag. A reader gets the bytes of one field and writes the value into the object
under construction as Go prints it in JSON: empty `omitempty` values are omitted, bytes are base64, times RFC 3339.
Structs that Go inlines are separate messages on the wire but write into their parent's object. Used only by
`protobuf.py`. No kind is treated specially: everything comes from the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from springtide.local.schema.node import Field, Node, Shape
from springtide.local.wire.scalars import DELIMITED, NUMBERS, ZERO, Malformed, skip, varint

# Deep enough for real schemas, shallow enough for Python's stack.
MAX_DEPTH: Final = 100

# A message of two bytes becomes an object of hundreds of bytes.
MAX_VALUES: Final = 65_536

Fields: TypeAlias = dict[str, Any]
# (object under construction, data, start, end, depth): reads a length-delimited field
Delimited: TypeAlias = Callable[[Fields, bytes, int, int, int], None]
# (object under construction, unsigned integer): reads a varint or 64-bit field
Number: TypeAlias = Callable[[Fields, int], None]
# (data, start, end, depth) -> value: reads one length-delimited element
Element: TypeAlias = Callable[[bytes, int, int, int], Any]

_DELIMITED: Final = 2


class _Room(threading.local):
    """Number of further values allowed in the message that this thread reads."""

    left = MAX_VALUES


_room = _Room()


class Message:
    """Reader of one struct. Compiled on first use, because JSONSchemaProps contains itself."""

    __slots__ = ("_compiled", "_delimited", "_fields", "_numbers", "_printed")

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self._compiled = False
        self._delimited: dict[int, Delimited] = {}
        self._numbers: dict[int, Number] = {}
        self._printed: tuple[tuple[str, Callable[[], Any]], ...] = ()

    def decode(self, data: bytes) -> Fields:
        _room.left = MAX_VALUES
        return self.element(data, 0, len(data), 0)

    def element(self, data: bytes, at: int, end: int, depth: int) -> Fields:
        out: Fields = {}
        self.read(out, data, at, end, depth)
        return out

    def read(self, out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        """Add the fields between `at` and `end` to `out`; a repeated message is merged, as protobuf requires."""
        if depth > MAX_DEPTH:
            raise Malformed(f"exceeded max depth {MAX_DEPTH}")
        if not self._compiled:
            self._compile()
        self._walk(out, data, at, end, depth + 1)
        for name, zero in self._printed:
            if name not in out:
                out[name] = zero()

    def _walk(self, out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        # The hot loop: one-byte tags, lengths and numbers are read inline, all others by function calls. Bounds are
        # checked at the end of each field, which detects reads past `end`.
        delimited, numbers, room = self._delimited, self._numbers, _room
        while at < end:
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = varint(data, at - 1, end)
            reader = delimited.get(tag)
            if reader is not None:
                room.left -= 1
                if room.left < 0:
                    raise Malformed(f"more than {MAX_VALUES} values")
                stop, at = _bounds(data, at, end)
                reader(out, data, at, stop, depth)
                at = stop
                continue
            number = numbers.get(tag)
            if number is None:
                at = skip(data, tag, at, end)
                continue
            if tag & 7:
                value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
            else:
                value = data[at]
                at += 1
                if value > 127:
                    value, at = varint(data, at - 1, end)
            number(out, value)
        if at != end:
            raise Malformed("unexpected EOF")

    def zero(self) -> Fields:
        return self.element(b"", 0, 0, 0)

    def _compile(self) -> None:
        self._compiled = True
        inlined: dict[int, dict[str, Field]] = {}
        printed: list[tuple[str, Callable[[], Any]]] = []
        for name, field in self._fields.items():
            if field.number and not field.omit_empty:
                printed.append((name, _zero(field)))
            if field.via:
                inlined.setdefault(field.via[0], {})[name] = _one_level_up(field)
            elif field.number:
                _add(name, field, self._delimited, self._numbers)
        for number, fields in inlined.items():
            self._delimited[number << 3 | _DELIMITED] = _inline(Message(fields))
        self._printed = tuple(printed)


def _bounds(data: bytes, at: int, end: int) -> tuple[int, int]:
    """End of a length-delimited field, and start of its content."""
    length = data[at]
    at += 1
    if length > 127:
        length, at = varint(data, at - 1, end)
    stop = at + length
    if stop > end:
        raise Malformed("unexpected EOF")
    return stop, at


_messages: dict[int, Message] = {}


def compile_message(node: Node) -> Message:
    """The reader of a struct. Positions of the same struct share its `fields`, and therefore the reader."""
    key = id(node.fields)
    message = _messages.get(key)
    if message is None:
        # The message keeps `fields` alive, so the id is not reused.
        message = _messages[key] = Message(node.fields)
    return message


def _one_level_up(field: Field) -> Field:
    return Field(field.node, omit_empty=True, pointer=field.pointer, number=field.number, via=field.via[1:])


def _inline(message: Message) -> Delimited:
    return message.read


def _add(name: str, field: Field, delimited: dict[int, Delimited], numbers: dict[int, Number]) -> None:
    node, number = field.node, field.number
    keep = field.pointer or not field.omit_empty
    if node.shape is Shape.LIST:
        assert node.item is not None
        _add_list(name, number, node.item, delimited, numbers)
    elif node.shape is Shape.MAP:
        assert node.item is not None
        delimited[number << 3 | _DELIMITED] = _map(name, node.item)
    elif node.shape is Shape.OBJECT:
        delimited[number << 3 | _DELIMITED] = _struct(name, compile_message(node))
    elif node.scalar in NUMBERS:
        numbers[number << 3 | _wire_type(node)] = _number(name, NUMBERS[node.scalar], keep)
    elif node.scalar == "string":
        delimited[number << 3 | _DELIMITED] = _string(name, keep)
    else:
        delimited[number << 3 | _DELIMITED] = _single(name, _element(node), keep)


def _wire_type(node: Node) -> int:
    return 1 if node.scalar == "float64" else 0


def _string(name: str, keep: bool) -> Delimited:
    def read(out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        if at < end or keep:
            out[name] = data[at:end].decode()
        else:
            out.pop(name, None)

    return read


def _single(name: str, element: Element, keep: bool) -> Delimited:
    def read(out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        value = element(data, at, end, depth)
        if keep or value:
            out[name] = value
        else:
            out.pop(name, None)

    return read


def _number(name: str, meaning: Callable[[int], Any], keep: bool) -> Number:
    def read(out: Fields, value: int) -> None:
        if value or keep:
            out[name] = meaning(value)
        else:
            out.pop(name, None)

    return read


def _struct(name: str, message: Message) -> Delimited:
    def read(out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        inner = out.get(name)
        if inner is None:
            inner = out[name] = {}
        message.read(inner, data, at, end, depth)

    return read


def _add_list(name: str, number: int, item: Node, delimited: dict[int, Delimited], numbers: dict[int, Number]) -> None:
    if item.scalar not in NUMBERS:
        delimited[number << 3 | _DELIMITED] = _repeated(name, _element(item))
        return
    meaning = NUMBERS[item.scalar]

    def append(out: Fields, value: int) -> None:
        out.setdefault(name, []).append(meaning(value))

    def packed(out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        while at < end:
            value, at = varint(data, at, end)
            append(out, value)

    numbers[number << 3 | _wire_type(item)] = append
    delimited[number << 3 | _DELIMITED] = packed


def _repeated(name: str, element: Element) -> Delimited:
    def read(out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        value = element(data, at, end, depth)
        if name in out:
            out[name].append(value)
        else:
            out[name] = [value]

    return read


def _map(name: str, item: Node) -> Delimited:
    """A map is a repeated message of key (1) and value (2)."""
    entry = Message({"key": _field(Node(Shape.SCALAR, scalar="string"), 1), "value": _field(_map_value(item), 2)})

    def read(out: Fields, data: bytes, at: int, end: int, depth: int) -> None:
        pair = entry.element(data, at, end, depth)
        value = pair["value"]
        if wrapped:
            value = value.get("items", [])
        if name in out:
            out[name][pair["key"]] = value
        else:
            out[name] = {pair["key"]: value}

    wrapped = item.shape is Shape.LIST
    return read


def _map_value(item: Node) -> Node:
    """Protobuf has no map of lists: Kubernetes wraps the list in a message (ExtraValue) with one field."""
    if item.shape is Shape.LIST:
        return Node(Shape.OBJECT, fields={"items": Field(item, omit_empty=True, number=1)})
    return item


def _field(node: Node, number: int) -> Field:
    return Field(node, number=number)


def _element(node: Node) -> Element:
    if node.shape is Shape.OBJECT:
        return compile_message(node).element
    if node.scalar in _SCHEMA_OR:
        return _schema_or(node)
    value = DELIMITED[node.scalar]

    def read(data: bytes, at: int, end: int, depth: int) -> Any:
        return value(data, at, end)

    return read


# JSONSchemaProps or an alternative: the fields of the wrapping message, and the one that JSON shows.
_BOOL, _STRING = Node(Shape.SCALAR, scalar="bool"), Node(Shape.SCALAR, scalar="string")
_SCHEMA_OR: Final[Mapping[str, Callable[[Node], dict[str, Field]]]] = {
    "schema-or-bool": lambda schema: {
        "schema": Field(schema, omit_empty=True, pointer=True, number=2),
        "else": Field(_BOOL, number=1),
    },
    "schema-or-array": lambda schema: {
        "first": Field(Node(Shape.LIST, item=schema), omit_empty=True, number=2),
        "schema": Field(schema, omit_empty=True, pointer=True, number=1),
    },
    "schema-or-strings": lambda schema: {
        "first": Field(Node(Shape.LIST, item=_STRING), omit_empty=True, number=2),
        "schema": Field(schema, omit_empty=True, pointer=True, number=1),
    },
}


def _schema_or(node: Node) -> Element:
    assert node.item is not None
    message = Message(_SCHEMA_OR[node.scalar](node.item))

    def read(data: bytes, at: int, end: int, depth: int) -> Any:
        found = message.element(data, at, end, depth)
        return next((found[name] for name in ("first", "schema", "else") if name in found), None)

    return read


def _zero(field: Field) -> Callable[[], Any]:
    """The value that Go prints for a field missing on the wire."""
    node = field.node
    if field.pointer or node.shape in (Shape.LIST, Shape.MAP):
        return _null
    if node.shape is Shape.OBJECT:
        return compile_message(node).zero
    value = ZERO.get(node.scalar)
    return lambda: value


def _null() -> None:
    return None
