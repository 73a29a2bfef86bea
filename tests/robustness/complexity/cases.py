# SPDX-License-Identifier: Apache-2.0
"""Requests that try every field of every kind with values that are long, deep or repetitive.

The fields come from the schemas themselves, so a new field or kind is tried without a line here. Each struct is
visited once, below the first kind that has it: its validator is the same everywhere. What is around the field is taken
from an object that kube-apiserver accepted, where one is recorded.
"""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from springtide.local.schema import builtin
from springtide.local.schema.node import Node, Shape

KINDS = Path(__file__).parents[2] / "unit/local/kinds"
MANY = 20_000
LONG = 100_000
DEEP = 100
SHARES = 16
"""One case in so many is tried by every run of CI; all of them by `SPRINGTIDE_COMPLEXITY=all`."""

TEXTS = {
    "letters": "a",
    "labels": "a.",
    "dashes": "a-",
    "references": "$(",
    "subscripts": "a['",
    "zeros": "0",
    "digits": "9",
    "signs": '<[{"\\@/:%,',
    "wide": "日本😀",
}
Obj = dict[str, Any]
Step = str | int
Steps = tuple[Step, ...]
Seen = set[tuple[int, str]]


class Case(NamedTuple):
    id: str
    method: str
    path: str
    make: Callable[[], Any]
    """The body, made only if the case is tried: bytes, or what becomes JSON."""
    media: str = "application/json"
    rarely: int = 1
    """CI tries one in so many of what it would try otherwise."""

    @property
    def in_sample(self) -> bool:
        """Whether CI tries the case."""
        return zlib.crc32(self.id.encode()) % (SHARES * self.rarely) == 0

    @property
    def body(self) -> bytes:
        made = self.make()
        return made if isinstance(made, bytes) else json.dumps(made, ensure_ascii=False).encode()


def long_text(sign: str) -> str:
    return (sign * (LONG // len(sign) + 1))[:LONG] + "!"


def recorded_objects() -> dict[str, Obj]:
    """For each kind an object that the real server accepted."""
    found: dict[str, Obj] = {}
    for entry in json.loads((KINDS / "groups/creations.json").read_text()):
        if entry.get("answer", {}).get("kind") == entry["object"].get("kind"):
            found.setdefault(entry["object"]["kind"], entry["object"])
    for entry in json.loads((KINDS / "core/answers/created.json").read_text()):
        if not entry.get("errors"):
            found.setdefault(entry["kind"], entry["object"])
    return found


def fields(node: Node, seen: Seen, steps: Steps = ()) -> Iterator[tuple[Steps, Node]]:
    """Every position below a node with the steps that lead to it; a struct that was seen before is left out."""
    for name, field in node.fields.items():
        if (id(node.fields), name) in seen or name in ("kind", "apiVersion"):
            continue
        seen.add((id(node.fields), name))
        yield (*steps, name), field.node
        yield from _below(field.node, seen, (*steps, name))


def _below(node: Node, seen: Seen, steps: Steps) -> Iterator[tuple[Steps, Node]]:
    if node.shape is Shape.OBJECT:
        yield from fields(node, seen, steps)
    elif node.shape in (Shape.LIST, Shape.MAP) and node.item is not None:
        yield from _below(node.item, seen, (*steps, 0 if node.shape is Shape.LIST else "key"))


def values(node: Node) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What to try at a position, by name."""
    match node.shape:
        case Shape.LIST:
            yield "empty items", lambda: [_empty(node.item)] * MANY
            yield "items", lambda: [_item(node.item, index) for index in range(MANY)]
        case Shape.MAP:
            yield "entries", lambda: {f"key-{index}": _item(node.item, index) for index in range(MANY)}
            yield "long key", lambda: {long_text("a"): _item(node.item, 0)}
        case Shape.ANY:
            yield "deep", _deep
            yield "items", lambda: [{"a": index} for index in range(MANY)]
        case Shape.SCALAR if node.scalar in ("int32", "int64", "float64"):
            yield "largest", lambda: 2**63 - 1
        case Shape.SCALAR if node.scalar != "bool":
            for name, sign in TEXTS.items():
                yield name, partial(long_text, sign)


def _deep() -> Any:
    value: Any = 1
    for _ in range(DEEP):
        value = {"a": [value]}
    return value


def _empty(node: Node | None) -> Any:
    if node is None or node.shape is Shape.SCALAR:
        return _scalar("" if node is None else node.scalar, 0)
    return [] if node.shape is Shape.LIST else {}


def _item(node: Node | None, index: int) -> Any:
    """A small value unlike those of other indexes."""
    if node is None or node.shape is Shape.SCALAR:
        return _scalar("" if node is None else node.scalar, index)
    if node.shape is Shape.OBJECT:
        scalars = [name for name, field in node.fields.items() if field.node.shape is Shape.SCALAR]
        return {name: _scalar(node.fields[name].node.scalar, index) for name in scalars[:3]}
    return [] if node.shape is Shape.LIST else {}


def _scalar(scalar: str, index: int) -> Any:
    match scalar:
        case "int32" | "int64" | "float64" | "int-or-string":
            return index
        case "bool":
            return True
        case "quantity":
            return f"{index}m"
        case "time":
            return "2026-01-01T00:00:00Z"
        case "microtime":
            return "2026-01-01T00:00:00.000000Z"
        case "bytes":
            return "AAAA"
    return f"n-{index}"


def placed(base: Obj, steps: Steps, value: Any) -> Obj:
    """The base with the value where the steps lead, and with whatever it takes to get there."""
    out = copy.deepcopy(base)
    place: Any = out
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        if following is None:
            place[step] = value
            break
        wanted: list[Any] | Obj = [{}] if following == 0 else {}
        found = place.get(step) if isinstance(place, dict) else place[step]
        if not isinstance(found, type(wanted)) or not found:
            place[step] = wanted
        place = place[step]
    return out


def kind_cases(kind: str, api_version: str, path: str, node: Node, seen: Seen) -> Iterator[Case]:
    """Creations of one kind, tried only."""
    base = recorded_objects().get(kind, {}) | {"kind": kind, "apiVersion": api_version}
    base["metadata"] = {"name": "tried", **base.get("metadata", {})}
    base["metadata"].pop("namespace", None)
    for steps, position in fields(node, seen):
        where = ".".join(map(str, steps))
        for name, value in values(position):
            yield Case(f"{kind}.{where}: {name}", "POST", f"{path}?dryRun=All", _making(base, steps, value))


def _making(base: Obj, steps: Steps, value: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: placed(base, steps, value())


def builtin_cases(resources: list[tuple[str, str, str]]) -> Iterator[Case]:
    """`resources`: kind, apiVersion and path of every collection that objects can be created in."""
    seen: Seen = set()
    for kind, api_version, path in resources:
        group, _, version = api_version.rpartition("/")
        if f"{group}/{version}/{kind}" in builtin.kinds():
            yield from kind_cases(kind, api_version, path, builtin.kind_node(group, version, kind), seen)
