# SPDX-License-Identifier: Apache-2.0
"""Drops the unknown fields of a custom object and reports them.

Runs on every body of a custom kind, before defaulting. The same walk removes nulls that the schema neither allows nor
replaces, turns numbers without a fraction into integers, and decodes the metadata of the object and of embedded
resources as the built-in ObjectMeta. Objects are changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from springtide.api.field_errors import shown
from springtide.local.schema import builtin
from springtide.local.schema.decode import TOO_DEEP, DecodeError, decode
from springtide.local.schema.node import MISSING, Node, Shape
from springtide.local.schema.paths import ROOT, Path, written
from springtide.local.schema.structural import META_FIELDS, OBJECT_META

_META = frozenset(META_FIELDS)
_MOST_TOLD = 100  # as many as Go's strict decoder reports for a built-in kind


class Dropped:
    """Paths of dropped fields; those inside metadata are reported first."""

    def __init__(self) -> None:
        self.metadata: list[str] = []
        self.others: list[Path] = []

    def add(self, path: Path) -> None:
        if len(self.others) < _MOST_TOLD:
            self.others.append(path)

    def paths(self) -> list[str]:
        return sorted(self.metadata) + sorted(written(path) for path in self.others)


Prune = Callable[[Any, Path, Dropped], None]


def compile_prune(root: Node) -> Callable[[dict[str, Any]], list[str]]:
    """A function that prunes a whole custom resource and returns the dropped paths.

    It raises `DecodeError` when type or metadata of the resource, or of one embedded in it, has the wrong type.
    """
    inner = _object(root, resource=True)

    def prune(obj: dict[str, Any]) -> list[str]:
        dropped = Dropped()
        try:
            inner(obj, ROOT, dropped)
        except RecursionError:
            raise DecodeError(TOO_DEEP) from None
        return dropped.paths() if dropped.metadata or dropped.others else []

    return prune


def prune_value(value: Any, node: Node) -> bool:
    """Prune a single value, such as a default; returns whether anything was dropped."""
    dropped = Dropped()
    _pruner(node)(value, ROOT, dropped)
    return bool(dropped.metadata or dropped.others)


def _nothing_known(value: Any, path: Path, dropped: Dropped) -> None:
    """Drop everything below a position without a schema."""
    if type(value) is dict:
        for key in value:
            dropped.add((path, key))
        value.clear()
    elif type(value) is list:
        for index, inner in enumerate(value):
            _nothing_known(inner, (path, index), dropped)


def _pruner(node: Node | None) -> Prune:
    if node is None:
        return _nothing_known
    if node.shape is Shape.LIST:
        return _list(node)
    if node.shape is Shape.SCALAR and node.scalar == "string":
        return _scalar
    return _object(node, resource=node.embedded)


def _scalar(value: Any, path: Path, dropped: Dropped) -> None:
    if type(value) is dict or type(value) is list:
        _nothing_known(value, path, dropped)


def _list(node: Node) -> Prune:
    inner = _pruner(node.item)
    drops_plain = node.item is None or node.item.shape is not Shape.SCALAR or node.item.scalar != "string"

    def prune(value: Any, path: Path, dropped: Dropped) -> None:
        if type(value) is not list:
            _nothing_known(value, path, dropped)
            return
        if drops_plain:
            for index, item in enumerate(value):
                inner(item, (path, index), dropped)
                if type(item) is float and item.is_integer():
                    value[index] = int(item)

    return prune


class _Keys:
    """For each key of an object: the pruner of its value, and whether a null is kept."""

    __slots__ = ("_fields", "_keeps_unknown", "_other", "_skipped")

    def __init__(self, node: Node, skipped: frozenset[str]) -> None:
        self._fields = {
            name: (_pruner(field.node), field.node.nullable or field.default is not MISSING)
            for name, field in node.fields.items()
            if name not in skipped
        }
        self._other = (_pruner(node.item), node.item is None or node.item.nullable) if node.shape is Shape.MAP else None
        self._keeps_unknown = node.preserve_unknown
        self._skipped = skipped

    def drops(self, obj: dict[str, Any], key: str, path: Path, dropped: Dropped) -> bool:
        """Whether the key must be dropped; otherwise its value is pruned."""
        step = self._fields.get(key, self._other)
        if step is None or key in self._skipped:
            return self._unknown(key, path, dropped)
        value = obj[key]
        if value is None:
            return not step[1]
        if type(value) is float:
            if value.is_integer():
                obj[key] = int(value)
        elif type(value) is not str:
            step[0](value, (path, key), dropped)
        return False

    def _unknown(self, key: str, path: Path, dropped: Dropped) -> bool:
        if self._keeps_unknown or key in self._skipped:
            return False
        dropped.add((path, key))
        return True


def _object(node: Node, resource: bool) -> Prune:
    drops = _Keys(node, _META if resource else frozenset()).drops
    in_list = _skip_list if node.preserve_unknown else _nothing_known

    def prune(value: Any, path: Path, dropped: Dropped) -> None:
        if type(value) is not dict:
            in_list(value, path, dropped)
            return
        for key in [key for key in value if drops(value, key, path, dropped)]:
            del value[key]
        if resource:
            _settle_meta(value, path, dropped)

    return prune


def _skip_list(value: Any, path: Path, dropped: Dropped) -> None:
    """Keep a list where unknown fields are kept: its items have no schema."""


def _settle_meta(obj: dict[str, Any], path: Path, dropped: Dropped) -> None:
    for key in ("apiVersion", "kind"):
        if key in obj and type(obj[key]) is not str:
            raise DecodeError(f"{written((path, key))}: Invalid value: {shown(obj[key])}: must be a string")
    if "metadata" not in obj:
        return
    metadata = obj["metadata"]
    try:
        decoded, unknown = decode({} if metadata is None else metadata, builtin.model(OBJECT_META))
    except DecodeError as error:
        if path is ROOT:
            raise
        place = written((path, "metadata"))
        raise DecodeError(f"{place}: Invalid value: {_sorted_json(metadata)}: {error}") from None
    obj["metadata"] = decoded
    if unknown:
        prefix = written((path, "metadata"))
        dropped.metadata.extend(f"{prefix}.{name}" for name in unknown)


def _sorted_json(value: Any) -> str:
    """JSON with sorted keys, as Go writes maps."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{shown(key)}:{_sorted_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_sorted_json(one) for one in value) + "]"
    return shown(value)
