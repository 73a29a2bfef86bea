# SPDX-License-Identifier: Apache-2.0
"""Maximum cost of a call, estimated from the sizes of its arguments, and the size of its result.

The numbers are kube-apiserver's, including 64-bit overflows in places: they decide which CRDs are accepted. Functions
without an entry cost one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from springtide.local.schema.cel import types
from springtide.local.schema.cel.bounds import Bounds
from springtide.local.schema.cel.cost import (
    ANY_SIZE,
    LIST_COST,
    ONE,
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    UNLIMITED,
    Entry,
    Size,
    capped,
    scaled,
)
from springtide.local.schema.cel.registry import Overload
from springtide.local.schema.cel.syntax import Expr, Literal
from springtide.local.schema.cel.types import Type, Typed


class Argument(NamedTuple):
    typed: Typed
    expr: Expr

    @property
    def size(self) -> Size:
        return self.typed.estimate.size or ANY_SIZE

    @property
    def type(self) -> Type:
        return self.typed.type

    def integer(self, otherwise: int) -> int:
        """The value of an integer literal, else `otherwise`."""
        value = self.expr.value if isinstance(self.expr, Literal) and self.expr.type == "int" else None
        return max(value, 0) if isinstance(value, int) else otherwise


class CallEstimate(NamedTuple):
    cost: int
    """Cost without that of the arguments."""
    size: Size | None = None
    entry: Entry | None = None


Arguments = Sequence[Argument]
"""A method's receiver comes first."""
Estimator = Callable[[Arguments, Overload, Bounds], CallEstimate]


def call_estimate(name: str, overloads: Sequence[Overload], arguments: Arguments, bounds: Bounds) -> CallEstimate:
    """The estimate that covers all possible overloads of a call."""
    estimator = _ESTIMATORS.get(name, _one)
    found = [estimator(arguments, overload, bounds) for overload in overloads]
    size: Size | None = None
    for each in found:
        if each.size is not None:
            size = each.size if size is None else size | each.size
    return CallEstimate(max(each.cost for each in found), size, found[-1].entry)


def read(size: Size) -> int:
    """Units for reading that many characters."""
    return scaled(size.most, PER_CHARACTER)


def _one(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(1)


def _reads_first(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(read(arguments[0].size))


def _changes_first(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(read(arguments[0].size), arguments[0].size)


def _reads_second(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(read(arguments[1].size))


def _contains(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(capped(read(arguments[0].size) * read(arguments[1].size)))


def _pattern(arguments: Arguments) -> int:
    text = read(arguments[0].size.plus(ONE))
    return capped(text * scaled(arguments[1].size.most, PER_PATTERN_CHARACTER))


def _matches(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(_pattern(arguments) if overload.member else 1)


def _find(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(_pattern(arguments), Size(0, arguments[0].size.most))


def _element(argument: Argument, bounds: Bounds) -> Size:
    """The size of a list's elements, known only from a schema."""
    path = argument.typed.estimate.path
    return (bounds.size((*path, "@items")) if path else None) or ANY_SIZE


def _traverses(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    first = arguments[0]
    if first.type.name != "list":
        return _reads_first(arguments, overload, bounds)
    each = 1
    if first.type.params[0] in (types.STRING, types.BYTES):
        each += read(_element(first, bounds))
    return CallEstimate(capped(first.size.most * each))


def _replace(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    text, old, new = (argument.size for argument in arguments[:3])
    cost = scaled(text.most, 2 * PER_CHARACTER)
    return CallEstimate(cost, Size(_least_replaced(text, old, new), _most_replaced(text, old, new)))


def _most_replaced(text: Size, old: Size, new: Size) -> int:
    if old.least == 0:
        return capped((min(text.most, UNLIMITED - 1) + 1) * new.most + text.most)
    if new.most <= old.least:
        return text.most
    return capped(scaled(text.most, 1 / old.least) * new.most)


def _least_replaced(text: Size, old: Size, new: Size) -> int:
    if old.most == 0:
        return capped((text.least + 1) * new.least + text.least)
    if old.most <= new.least:
        return text.least
    return capped(scaled(text.least, 1 / old.most) * new.least)


def _split(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    most = arguments[0].size.most
    if len(arguments) > 2 and isinstance(arguments[2].expr, Literal) and isinstance(arguments[2].expr.value, int):
        most = arguments[2].expr.value % 2**64
    return CallEstimate(scaled(arguments[0].size.most, 2 * PER_CHARACTER), Size(0, most))


def _join(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    parts = arguments[0].size
    size = parts.times(_element(arguments[0], bounds)) if arguments[0].type.params else Size(0, 0)
    if len(arguments) > 1:
        between = Size(max(parts.least - 1, 0), max(parts.most - 1, 0))
        size = size.plus(arguments[1].size.times(between))
    return CallEstimate(read(size), size)


def _ip(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(1 if overload.member else read(arguments[0].size))


def _is_canonical(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(scaled(arguments[0].size.most, 2 * PER_CHARACTER))


def _contains_address(base: int) -> Estimator:
    def estimate(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
        parsed = read(arguments[1].size) if overload.params[1] is types.STRING else 0
        return CallEstimate(capped(base + parsed))

    return estimate


def _validate(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(scaled(read(arguments[1].size), 128 * PER_PATTERN_CHARACTER))


def _to_bytes(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    if overload.params[0] is not types.STRING:
        return CallEstimate(1)
    size = arguments[0].size
    return CallEstimate(read(size), Size(size.least, size.most * 4 % 2**64))


def _to_string(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    if overload.params[0] is not types.BYTES:
        return CallEstimate(1)
    size = arguments[0].size
    return CallEstimate(read(size), Size(size.least // 4, size.most))


def _quote(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    size = arguments[0].size
    return CallEstimate(read(size), Size(size.least + 2, (size.most * 2 + 2) % 2**64))


def _in(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(arguments[1].size.most if overload.params[1].name == "list" else 1)


def _add(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    kind = overload.params[0]
    size = arguments[0].size.plus(arguments[1].size)
    if kind in (types.STRING, types.BYTES):
        return CallEstimate(read(size), size)
    if kind.name != "list":
        return CallEstimate(1)
    left, right = arguments[0].typed.estimate.entry, arguments[1].typed.estimate.entry
    return CallEstimate(1, size, left | right if left is not None and right is not None else None)


def _compare(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return CallEstimate(scaled(min(arguments[0].size.most, arguments[1].size.most), PER_CHARACTER))


def _order(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    if overload.params[0] in (types.STRING, types.BYTES):
        return _compare(arguments, overload, bounds)
    return CallEstimate(1)


_CHEAP_EQUALITY: Final = (types.IP, types.CIDR, types.QUANTITY, types.SEMVER)


def _equal(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    kind = arguments[0].type
    if kind is arguments[1].type:
        if kind in _CHEAP_EQUALITY:
            return CallEstimate(1)
        if kind is types.FORMAT:
            return CallEstimate(scaled(64, PER_CHARACTER))
        if kind is types.URL:
            return CallEstimate(scaled((arguments[1].typed.estimate.size or ONE).most, PER_CHARACTER))
    return _compare(arguments, overload, bounds)


def _list_call(factor: float, size: Size) -> CallEstimate:
    return CallEstimate(capped(scaled(size.most, factor) + 1 + LIST_COST), size)


def _slice(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    length = (arguments[2].integer(arguments[0].size.most) - arguments[1].integer(0)) % 2**64
    return _list_call(1, Size(length, length))


def _range(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    length = arguments[0].integer(UNLIMITED)
    return _list_call(1, Size(length, length))


def _reverse(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    return _list_call(1, arguments[0].size)


def _flatten(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
    depth = arguments[1].integer(UNLIMITED) if len(arguments) > 1 else 1
    return _list_call(float(depth), arguments[0].size)


def _squared(factor: float, argument: int) -> Estimator:
    """Estimator for functions that compare every element with every other."""

    def estimate(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
        size, kind = arguments[argument].size, overload.params[argument].params[0]
        text = factor + PER_CHARACTER if kind in (types.STRING, types.BYTES) else factor
        return _list_call(text, size.times(size))

    return estimate


def _sets(factor: float) -> Estimator:
    def estimate(arguments: Arguments, overload: Overload, bounds: Bounds) -> CallEstimate:
        pairs = arguments[0].size.times(arguments[1].size)
        return CallEstimate(capped(scaled(pairs.most, factor) + 1))

    return estimate


_ESTIMATORS: Final[dict[str, Estimator]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traverses),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _changes_first),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _reads_first),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("startsWith", "endsWith"), _reads_second),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "ip.isCanonical": _is_canonical,
    "containsIP": _contains_address(4),
    "containsCIDR": _contains_address(7),
    "validate": _validate,
    "format": _reads_first,
    "bytes": _to_bytes,
    "string": _to_string,
    "strings.quote": _quote,
    "@in": _in,
    "matches": _matches,
    "contains": _contains,
    "_+_": _add,
    "_==_": _equal,
    "_!=_": _compare,
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _squared(2.0, 0),
    "sort": _squared(2.0, 0),
    "@sortByAssociatedKeys": _squared(2.0, 1),
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}
