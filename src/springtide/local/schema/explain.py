# SPDX-License-Identifier: Apache-2.0
"""Error messages for rejected bodies and unknown fields: the slow counterpart of `decode`.

Used only for bodies with errors. The walk keeps the state that Go's decoder has for its errors: the current struct, the
Go names on the path, and that a wrong JSON type is recorded while a parser error ends decoding at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from springtide.local.schema.leaves import CONVERTERS, Unfit
from springtide.local.schema.node import Node, Shape

_MOST_COMPLAINTS = 100  # as many as Go's strict decoder reports


class DecodeError(Exception):
    """A value has the wrong type; the text is what follows `cannot be handled as a Pod: `."""


class _Place(NamedTuple):
    """Position of Go's decoder: the struct and the field names that it prints."""

    struct: str = ""
    path: str = ""

    def into(self, struct: Node, inline: tuple[str, ...], name: str) -> _Place:
        return _Place(struct.name.rpartition(".")[2], ".".join(filter(None, (self.path, *inline, name))))


def explain(obj: Any, node: Node) -> None:
    """Raise the `DecodeError` of kube-apiserver, if the object has errors."""
    try:
        misfits = list(_misfits(obj, node, _Place(), _go_type(node)))
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    if misfits:
        raise DecodeError(misfits[0])


def _misfits(value: Any, node: Node, place: _Place, go: str) -> Iterator[str]:
    """Wrong JSON types in document order; a parser error is raised and so precedes them."""
    if value is None:
        return
    match node.shape:
        case Shape.OBJECT if isinstance(value, dict):
            for name, inner in value.items():
                if name in node.fields:
                    field = node.fields[name]
                    yield from _misfits(inner, field.node, place.into(node, field.inline, name), _go_type(field.node))
        case Shape.LIST if isinstance(value, list):
            yield from _item_misfits(value, node, place)
        case Shape.MAP if isinstance(value, dict):
            yield from _item_misfits(value.values(), node, place)
        case Shape.SCALAR:
            yield from _scalar_misfit(value, node, place, go)
        case Shape.ANY:
            yield from _free_misfit(value, node, place)
        case _:
            yield _mismatch(_word(value), place, go)


def _item_misfits(values: Iterable[Any], node: Node, place: _Place) -> Iterator[str]:
    assert node.item is not None
    for value in values:
        yield from _misfits(value, node.item, place, _item_type(node))


def _scalar_misfit(value: Any, node: Node, place: _Place, go: str) -> Iterator[str]:
    try:
        CONVERTERS[node.scalar](value)
    except Unfit as unfit:
        if unfit.args:
            raise DecodeError(str(unfit)) from None
        word = _word(value)
        if word == "number" and node.scalar.startswith("int"):
            word = f"number {value}"
        yield _mismatch(word, place, go)


def _free_misfit(value: Any, node: Node, place: _Place) -> Iterator[str]:
    if node.scalar == "schema-or-bool" and not isinstance(value, bool | dict):
        raise DecodeError("boolean or JSON schema expected")
    if node.item is not None:
        for schema in value if isinstance(value, list) else [value]:
            if isinstance(schema, dict):
                yield from _misfits(schema, node.item, place, _go_type(node.item))


def _mismatch(word: str, place: _Place, go: str) -> str:
    if not place.path:
        return f"json: cannot unmarshal {word} into Go value of type {go}"
    return f"json: cannot unmarshal {word} into Go struct field {place.struct}.{place.path} of type {go}"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "object" if isinstance(value, dict) else "array"


_GO_SCALARS = {
    "bytes": "[]uint8",
    "time": "string",
    "microtime": "string",
    "duration": "string",
    "int-or-string": "int32",
    "raw": "runtime.RawExtension",
    "json": "v1.JSON",
}


def _go_type(node: Node) -> str:
    if node.shape is Shape.OBJECT:
        return ".".join(node.name.split(".")[-2:])
    if node.name:
        return node.name
    if node.shape is Shape.LIST:
        return "[]" + _item_type(node)
    if node.shape is Shape.MAP:
        return "map[string]" + _item_type(node)
    return _GO_SCALARS.get(node.scalar, node.scalar)


def _item_type(node: Node) -> str:
    """`[]v1.Capability` contains the type of its elements; `v1.ResourceList` does not."""
    assert node.item is not None
    if node.name.startswith("["):
        return node.name[2:]
    if node.name.startswith("map["):
        return node.name.partition("]")[2]
    return _go_type(node.item)


def unknown_fields(obj: Any, node: Node) -> list[str]:
    """Paths of unknown fields, in document order, at most as many as Go reports."""
    found: list[str] = []
    for path in _unknown(obj, node, ""):
        found.append(path)
        if len(found) == _MOST_COMPLAINTS:
            break
    return found


def _unknown(value: Any, node: Node, path: str) -> Iterator[str]:
    if node.shape is Shape.LIST and isinstance(value, list) and node.item is not None:
        for index, inner in enumerate(value):
            yield from _unknown(inner, node.item, f"{path}[{index}]")
    elif node.shape is Shape.MAP and isinstance(value, dict) and node.item is not None:
        for name, inner in value.items():
            yield from _unknown(inner, node.item, f"{path}.{name}" if path else name)
    elif node.shape is Shape.OBJECT and isinstance(value, dict):
        for name, inner in value.items():
            inner_path = f"{path}.{name}" if path else name
            if name in node.fields:
                yield from _unknown(inner, node.fields[name].node, inner_path)
            else:
                yield inner_path
