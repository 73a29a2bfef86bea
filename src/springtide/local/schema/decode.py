# SPDX-License-Identifier: Apache-2.0
"""Decoding of built-in kinds: normalises JSON as a round trip through the Go type does.

The API server calls it for every body of a built-in kind, after JSON parsing. It drops unknown fields and empty
`omitempty` values, adds the zero values that Go always writes, converts quantities and times to their canonical form
and rejects wrong types. Each type is compiled once into a closure without paths; only for a body with errors does
`explain` walk it again for the messages.

One deliberate difference: a missing or empty list or map that OpenAPI calls required is omitted instead of becoming
null, so that the kinds' validation sees either items or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from springtide.local.schema.explain import DecodeError, explain, unknown_fields
from springtide.local.schema.leaves import CONVERTERS, ZEROS, Unfit
from springtide.local.schema.node import Field, Node, Shape

__all__ = ["DecodeError", "decode"]

TOO_DEEP = "exceeded max depth"
Unknown = list[str]
Convert = Callable[[Any, Unknown], Any]

_compiled: dict[int, tuple[Node, Convert]] = {}


def decode(obj: dict[str, Any], node: Node) -> tuple[dict[str, Any], list[str]]:
    """The object as the type keeps it, and the paths of unknown fields, in document order.

    Raises `DecodeError` with kube-apiserver's message when a value has the wrong type. Parts of `obj` that need no
    change are shared with the result.
    """
    unknown: Unknown = []
    if type(obj) is not dict:
        explain(obj, node)
    try:
        decoded: dict[str, Any] = _converter(node)(obj, unknown)
        return decoded, unknown_fields(obj, node) if unknown else unknown
    except Unfit:
        pass
    except RecursionError:
        raise DecodeError(TOO_DEEP) from None
    explain(obj, node)
    raise DecodeError("the object does not fit its type")  # reached only if the two walks disagree


def _converter(node: Node) -> Convert:
    """The closure for a non-scalar node, made once; the node is kept alive so that its id is not reused."""
    entry = _compiled.get(id(node))
    if entry is None:
        entry = (node, _COMPILERS[node.shape](node))
        _compiled[id(node)] = entry
    return entry[1]


class _Slot(NamedTuple):
    """Conversion of one field of a struct."""

    python: type | None
    """The only JSON type allowed; None leaves the check to the converter."""
    convert: Convert | None
    keep_empty: bool


# Only the type of these values is checked.
_PLAIN: dict[str, type] = {"string": str, "bool": bool, "duration": str}
_COLLECTIONS: dict[Shape, type] = {Shape.OBJECT: dict, Shape.MAP: dict, Shape.LIST: list}


def _slot(field: Field) -> _Slot:
    node = field.node
    keep_empty = field.pointer or (not field.omit_empty and node.shape not in (Shape.LIST, Shape.MAP))
    if node.shape is not Shape.SCALAR:
        return _Slot(_COLLECTIONS.get(node.shape), _converter(node), keep_empty)
    plain = _PLAIN.get(node.scalar)
    return _Slot(plain, None if plain else CONVERTERS[node.scalar], keep_empty)


def _struct(node: Node) -> Convert:
    slots: dict[str, _Slot] = {}
    always: list[tuple[str, Callable[[], Any]]] = []
    convert = _struct_converter(slots, always)
    _compiled[id(node)] = (node, convert)  # before its fields, because a type may contain itself
    for name, field in node.fields.items():
        slots[name] = _slot(field)
        if not field.omit_empty and not (field.required and _is_nil(field)):
            always.append((name, _zero(field)))
    return convert


def _struct_converter(slots: dict[str, _Slot], always: list[tuple[str, Callable[[], Any]]]) -> Convert:
    find = slots.get

    def convert(obj: dict[str, Any], unknown: Unknown) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in obj.items():
            slot = find(key)
            if slot is None:
                unknown.append(key)
                continue
            if value is None:
                continue
            python, inner, keep_empty = slot
            if python is not None and type(value) is not python:
                raise Unfit
            if inner is not None:
                value = inner(value, unknown)
            if value or (keep_empty and value is not None):
                out[key] = value
        for name, zero in always:
            if name not in out:
                out[name] = zero()
        return out

    return convert


def _is_nil(field: Field) -> bool:
    """Whether Go writes null when the field is not set."""
    return field.pointer or field.node.shape in (Shape.LIST, Shape.MAP)


def _zero(field: Field) -> Callable[[], Any]:
    """Makes the value that Go writes for an unset field; structs anew each time, because callers change objects."""
    node = field.node
    if node.shape is Shape.OBJECT and not field.pointer:
        convert = _converter(node)
        return lambda: convert({}, [])
    constant = None if field.pointer else ZEROS.get(node.scalar)
    return lambda: constant


def _list(node: Node) -> Convert:
    item = node.item
    assert item is not None
    if item.shape is Shape.SCALAR:
        return _scalar_list(item)
    inner, python = _converter(item), _COLLECTIONS.get(item.shape)

    def convert(values: list[Any], unknown: Unknown) -> list[Any]:
        out = []
        for value in values:
            if value is None and python is not None:
                value = python()
            elif python is not None and type(value) is not python:
                raise Unfit
            out.append(inner(value, unknown))
        return out

    return convert


def _scalar_list(item: Node) -> Convert:
    leaf, zero = CONVERTERS[item.scalar], ZEROS[item.scalar]

    def convert(values: Any, unknown: Unknown) -> list[Any]:
        return [zero if value is None else leaf(value) for value in values]

    return convert


def _map(node: Node) -> Convert:
    item = node.item
    assert item is not None
    if item.shape is Shape.SCALAR:
        return _string_map if item.scalar == "string" else _scalar_map(item)
    every = _list(Node(Shape.LIST, item=item))

    def convert(values: dict[str, Any], unknown: Unknown) -> dict[str, Any]:
        return dict(zip(values, every(list(values.values()), unknown), strict=True))

    return convert


def _string_map(values: dict[str, Any], unknown: Unknown) -> dict[str, Any]:
    """Labels, annotations and ConfigMap data: nearly always valid unchanged."""
    for value in values.values():
        if type(value) is not str:
            if value is not None:
                raise Unfit
            return {key: "" if inner is None else inner for key, inner in values.items()}
    return values


def _scalar_map(item: Node) -> Convert:
    leaf = CONVERTERS[item.scalar]
    zero = "" if item.scalar == "bytes" else ZEROS[item.scalar]  # Go writes empty bytes in a map as empty strings

    def convert(values: dict[str, Any], unknown: Unknown) -> dict[str, Any]:
        return {key: zero if value is None else leaf(value) for key, value in values.items()}

    return convert


def _free(node: Node) -> Convert:
    if node.item is None:
        return lambda value, unknown: value
    inner, scalar = _converter(node.item), node.scalar

    def convert(value: Any, unknown: Unknown) -> Any:
        # Go uses a separate decoder here, which reports no unknown fields and skips unexpected values.
        if type(value) is dict:
            return inner(value, [])
        if type(value) is list and scalar != "schema-or-bool":
            return [inner(one, []) for one in value] if scalar == "schema-or-array" else value
        if scalar == "schema-or-bool":
            if type(value) is bool:
                return value
            raise Unfit
        return None

    return convert


_COMPILERS: dict[Shape, Callable[[Node], Convert]] = {
    Shape.OBJECT: _struct,
    Shape.LIST: _list,
    Shape.MAP: _map,
    Shape.ANY: _free,
}
