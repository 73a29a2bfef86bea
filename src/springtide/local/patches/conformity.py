# SPDX-License-Identifier: Apache-2.0
"""Checks an applied configuration against the schema, with the messages of structured-merge-diff.

Server-side apply reads the client's object before any other check, so wrong types, unknown fields and duplicate list
keys are found here. Unlike validation it reports paths such as `.spec.containers[name="a"].image`.
"""

from __future__ import annotations

from typing import Any

from springtide.api.field_errors import cut
from springtide.local.patches.comparison import DEDUCED, ElementError, element_of
from springtide.local.patches.field_sets import shown_element
from springtide.local.schema.node import Node, Shape

_NUMERIC = frozenset({"int32", "int64", "float64"})
_TEXT = frozenset({"string", "bytes"})


def complaints(value: Any, node: Node) -> list[str]:
    """Errors as `path: message`; empty when the object is valid."""
    return _check(value, node, "", False)


def _check(value: Any, node: Node, path: str, open_: bool) -> list[str]:
    """`open_`: unknown fields are allowed by this position or one above it."""
    if value is None or node.shape is Shape.ANY:
        return []
    if node.shape is Shape.SCALAR:
        wrong = _scalar_complaint(value, node.scalar)
        return [f"{cut(path)}: {wrong}"] if wrong else []
    path = cut(path)  # every error below the path repeats it, and it can contain a long key
    if node.shape is Shape.LIST:
        return _check_list(value, node, path, open_)
    if type(value) is not dict:
        return [f"{path}: expected map, got &{{{go_text(value)}}}"]
    return _check_map(value, node, path, open_ or node.preserve_unknown)


def _check_map(value: dict[str, Any], node: Node, path: str, open_: bool) -> list[str]:
    out: list[str] = []
    for name in sorted(value):
        found = node.fields.get(name)
        below = found.node if found is not None else node.item
        if below is None and not open_ and node.fields:
            out.append(f"{path}.{cut(name)}: field not declared in schema")
            continue
        out += _check(value[name], below or DEDUCED, f"{path}.{name}", open_)
    return out


def _check_list(value: Any, node: Node, path: str, open_: bool) -> list[str]:
    if type(value) is not list:
        return [f"{path}: expected list, got &{{{go_text(value)}}}"]
    out: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"[{index}]"
        if node.list_type != "atomic":
            try:
                element = element_of(item, node)
            except ElementError as error:
                return [*out, f"{path}: element {index}: {error}"]
            step = shown_element(element)
            if element in seen:
                out.append(f"{path}: duplicate entries for key {step}")
            seen.add(element)
        out += _check(item, node.item or DEDUCED, path + step, open_)
    return out


def _scalar_complaint(value: Any, scalar: str) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if scalar in _NUMERIC:
        return "" if is_number else f"expected numeric (int or float), got {go_type(value)}"
    if scalar in _TEXT:
        return (
            ""
            if isinstance(value, str)
            else f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        )
    if scalar == "bool":
        return "" if isinstance(value, bool) else f"expected boolean, got &{{{go_text(value)}}}"
    return "" if not isinstance(value, dict | list) else f"expected any scalar, got &{{{go_text(value)}}}"


def go_type(value: Any) -> str:
    """The Go type of a decoded JSON value, as in Go's messages."""
    if isinstance(value, bool):
        return "bool"
    names = {str: "string", int: "int64", float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), "<nil>")


def go_text(value: Any) -> str:
    """A decoded JSON value as Go prints it with %v."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_text(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _go_syntax(value: Any) -> str:
    """A decoded JSON value as Go prints it with %#v."""
    if isinstance(value, dict):
        inner = ", ".join(f'"{name}":{_go_syntax(value[name])}' for name in sorted(value))
        return "map[string]interface {}{" + inner + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_go_syntax, value)) + "}"
    return f'"{value}"' if isinstance(value, str) else go_text(value)


def json_kind(value: Any) -> str:
    """The name of a JSON value's type in errors of Go's JSON decoder."""
    if isinstance(value, bool):
        return "bool"
    return {str: "string", int: "number", float: "number", dict: "object", list: "array"}.get(type(value), "null")
