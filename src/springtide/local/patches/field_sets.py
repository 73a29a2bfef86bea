# SPDX-License-Identifier: Apache-2.0
"""Sets of field paths in their wire form (`fieldsV1`), so that reading and writing them needs no conversion.

A set is a tree of dicts. Keys are path elements: `f:name`, `k:{"name":"a"}` (list item by key), `v:"x"` (item of a
set), `i:0`. An empty dict is a field that belongs to the set; one with children belongs to it when it has the key `.`.
The root itself is never a member, so `{}` at the top is the empty set. Sets are never changed once made and share
subtrees freely. Used by `comparison`, `managed_fields` and `apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from springtide.api import whole_numbers
from springtide.api.field_errors import cut

_LONGEST_KNOWN = 256  # characters; longer ones would fill the memory

FieldSet: TypeAlias = "dict[str, FieldSet]"
Filter: TypeAlias = Callable[[FieldSet], FieldSet]

SELF: Final = "."
LEAF: Final[FieldSet] = {}
"""A member without children. One shared object: never modify a set."""

_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class FieldSetError(ValueError):
    """An invalid `fieldsV1`."""


def is_member(node: FieldSet) -> bool:
    return not node or SELF in node


def as_member(node: FieldSet | None) -> FieldSet:
    """The same subtree with its root as a member."""
    if not node:
        return LEAF
    return node if SELF in node else {SELF: LEAF, **node}


def without_self(node: FieldSet) -> FieldSet | None:
    """The children alone; None when there are none."""
    if SELF not in node:
        return node or None
    return {element: child for element, child in node.items() if element != SELF} or None


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or left is right:
        return right
    if not right:
        return left
    out = dict(left)
    for element, theirs in right.items():
        ours = out.get(element)
        if ours is None:
            out[element] = theirs
        elif ours is not theirs:
            out[element] = _union_below(ours, theirs)
    return out


def _union_below(ours: FieldSet, theirs: FieldSet) -> FieldSet:
    if not ours:
        return as_member(theirs)
    if not theirs:
        return as_member(ours)
    return union(ours, theirs)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Members of `left` that are not members of `right`; `left` itself when none is removed."""
    if not left or not right:
        return left
    out: FieldSet = {}
    same = True
    for element, ours in left.items():
        theirs = right.get(element)
        rest = ours if theirs is None else _difference_below(ours, theirs)
        if rest is not ours:
            same = False
        if rest is not None:
            out[element] = rest
    return left if same else out


def _difference_below(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not ours:
        return None if is_member(theirs) else ours
    if not theirs:
        return without_self(ours)
    rest = difference(ours, theirs)
    return rest if rest is ours else _tidy(rest)


def _tidy(node: FieldSet) -> FieldSet | None:
    """Normalise a subtree after a difference: None if empty, LEAF for a bare member, otherwise unchanged."""
    if not node:
        return None
    return LEAF if len(node) == 1 and SELF in node else node


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    out: FieldSet = {}
    for element, ours in left.items():
        theirs = right.get(element)
        if theirs is None:
            continue
        both = _intersection_below(ours, theirs)
        if both is not None:
            out[element] = both
    return out


def _intersection_below(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not ours:
        return LEAF if is_member(theirs) else None
    if not theirs:
        return LEAF if is_member(ours) else None
    return _tidy(intersection(ours, theirs))


def prune_below(fields: FieldSet, roots: FieldSet) -> FieldSet:
    """`fields` without the members of `roots` and everything below them."""
    out: FieldSet = {}
    for element, ours in fields.items():
        theirs = roots.get(element)
        if theirs is None:
            out[element] = ours
        elif not is_member(theirs):
            rest = _tidy(prune_below(ours, theirs)) if ours else ours
            if rest is not None:
                out[element] = rest
    return out


def excluding(*paths: str) -> Filter:
    """A filter that drops fields and all below them: `excluding("status", "metadata.labels")`."""
    roots: FieldSet = {}
    for path in paths:
        roots = union(roots, _from_path(path))
    return lambda fields: prune_below(fields, roots)


def only(name: str) -> Filter:
    """A filter that keeps one top-level field and all below it."""
    element = f"f:{name}"
    return lambda fields: {element: fields[element]} if element in fields else {}


def _from_path(path: str) -> FieldSet:
    node: FieldSet = LEAF
    for name in reversed(path.split(".")):
        node = {f"f:{name}": node}
    return node


def parse(fields: Any) -> FieldSet:
    """A set from a client, checked and in canonical form."""
    if not isinstance(fields, dict):
        raise FieldSetError("a set of fields must be an object")
    out: FieldSet = {}
    for element, below in fields.items():
        canonical = SELF if element == SELF else _canonical(element)
        if canonical is None:
            continue
        child = LEAF if canonical == SELF else parse(below)
        out[canonical] = LEAF if len(child) == 1 and SELF in child else child
    return out


def _canonical(element: str) -> str | None:
    """The canonical element; None for an unknown kind, which a later version may use: it is dropped, not rejected."""
    if len(element) < 2 or element[1] != ":":
        raise FieldSetError(f"no path element: {element!r}")
    kind, text = element[0], element[2:]
    try:
        if kind == "f":
            return element
        if kind == "k":
            return key_element(msgspec.json.decode(text, type=dict[str, Any]))
        if kind == "v":
            return value_element(msgspec.json.decode(text))
        return f"i:{_place(text)}" if kind == "i" else None
    except (msgspec.DecodeError, ValueError) as error:
        raise FieldSetError(f"no path element: {element!r}") from error


def _place(text: str) -> int:
    place = whole_numbers.parse(text)
    if place is None:
        raise ValueError(text)
    return place


def key_element(keys: dict[str, Any]) -> str:
    """`k:{"containerPort":80,"protocol":"TCP"}`: a list item by its keys, which are sorted."""
    return "k:{" + ",".join([f"{_json(name)}:{_json(keys[name])}" for name in sorted(keys)]) + "}"


def value_element(value: Any) -> str:
    return "v:" + _json(value)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return _known_json_string(value) if len(value) <= _LONGEST_KNOWN else _written_json_string(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # Go writes a whole float without a decimal point
    return msgspec.json.encode(value).decode()


@lru_cache(maxsize=4096)
def _known_json_string(value: str) -> str:
    return _written_json_string(value)


def _written_json_string(value: str) -> str:
    text = msgspec.json.encode(value).decode()
    for raw, escaped in _HTML.items():
        if raw in text:
            text = text.replace(raw, escaped)
    return text


def paths(fields: FieldSet) -> Iterator[str]:
    """Every member in readable form (`.spec.containers[name="a"].image`), in Kubernetes' order."""
    yield from _paths("", fields)


def _paths(prefix: str, fields: FieldSet) -> Iterator[str]:
    elements = sorted((element for element in fields if element != SELF), key=_rank)
    for element in elements:
        if is_member(fields[element]):
            yield cut(prefix + shown_element(element))
    for element in elements:
        if fields[element]:
            # Shortened here: a long key is repeated in each of the thousands of paths below it.
            yield from _paths(cut(prefix + shown_element(element)), fields[element])


def _rank(element: str) -> tuple[Any, ...]:
    kind, text = element[0], element[2:]
    if kind == "f":
        return (0, text)
    if kind == "k":
        return (1, [(name, *_value_rank(value)) for name, value in msgspec.json.decode(text).items()])
    if kind == "v":
        return (2, *_value_rank(msgspec.json.decode(text)))
    return (3, int(text))


def _value_rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    return (1, value) if isinstance(value, str) else (0, value)


def shown_element(element: str) -> str:
    """One element of a path in readable form."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        return "[" + ",".join(f"{name}={_quoted(value)}" for name, value in msgspec.json.decode(text).items()) + "]"
    return f"[={_quoted(msgspec.json.decode(text))}]" if kind == "v" else f"[{text}]"


def _quoted(value: Any) -> str:
    return msgspec.json.encode(value).decode()
