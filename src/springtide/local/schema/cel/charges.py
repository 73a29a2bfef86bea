# SPDX-License-Identifier: Apache-2.0
"""Costs of calls at run time, computed from the arguments before the call.

The numbers are kube-apiserver's. Functions without an entry cost one unit. For functions with results that can be much
larger than their cost, `ROOM` computes the size of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from springtide.local.schema.cel import types
from springtide.local.schema.cel.cost import (
    LIST_COST,
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    RUNNING,
    TURN,
    scaled,
)
from springtide.local.schema.cel.kubernetes import Cidr, NamedFormat
from springtide.local.schema.cel.registry import Overload
from springtide.local.schema.cel.values import Optional

Charge = Callable[..., int]
"""From a call's arguments to units."""


def size(value: Any) -> int:
    """The size of a value as in cel-go: values without a size count as one."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size(value.value)
    if isinstance(value, IPv4Address | IPv6Address):
        return 4 if value.version == 4 else 16
    return -(-value.network.prefixlen // 8) if isinstance(value, Cidr) else 1


def charge(name: str, overloads: list[Overload]) -> Charge | None:
    """The charge of a call; None: one unit. cel-go has some costs only for calls with a single possible overload."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if len(overloads) == 1 and name in _BY_OVERLOAD:
        return _BY_OVERLOAD[name](overloads[0])
    return None


def _read(value: Any, *others: Any) -> int:
    return scaled(size(value), PER_CHARACTER)


def _read_twice(value: Any, *others: Any) -> int:
    return scaled(size(value), 2 * PER_CHARACTER)


def _pattern(text: Any, pattern: Any, *others: Any) -> int:
    return scaled(1 + size(text), PER_CHARACTER) * scaled(size(pattern), PER_PATTERN_CHARACTER)


def _contains(text: Any, part: Any) -> int:
    return _read(text) * _read(part)


def _traversal(value: Any, *others: Any) -> int:
    units, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            units += int(len(one.encode(errors="replace")) * PER_CHARACTER)
        elif isinstance(one, bytes):
            units += int(len(one) * PER_CHARACTER)
        elif isinstance(one, list | dict):
            RUNNING.meter.reserve(TURN * len(one))
            waiting += one if isinstance(one, list) else [*one.keys(), *one.values()]
        else:
            units += 1
    return units


def joined(parts: Any, between: Any = "") -> int:
    """Characters of a joined list."""
    if not all(isinstance(part, str) for part in parts):
        return 0  # the call itself fails
    return sum(map(len, parts)) + len(between) * max(len(parts) - 1, 0)


def _join(parts: Any, between: Any = "") -> int:
    return scaled(joined(parts, between), 2 * PER_CHARACTER)


def _compare(left: Any, right: Any) -> int:
    return scaled(min(size(left), size(right)), PER_CHARACTER)


def _validate(format_: NamedFormat, text: Any) -> int:
    return scaled(1 + size(text), PER_CHARACTER) * scaled(format_.pattern_size, PER_PATTERN_CHARACTER)


def _contains_ip(cidr: Any, other: Any) -> int:
    base = scaled(2 * size(cidr), PER_CHARACTER)
    return base + (_read(other) if isinstance(other, str) else 0)


def _contains_cidr(cidr: Any, other: Any) -> int:
    return _contains_ip(cidr, other) + _read(cidr) + 1


_BY_NAME: Final[dict[str, Charge]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _read),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _read),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _read_twice),
    **dict.fromkeys(("find", "findAll"), _pattern),
    "join": _join,
    "validate": _validate,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "_==_": _compare,
    "_!=_": _compare,
}


def _list_cost(length: int, factor: float = 1.0) -> int:
    return int(length * factor) + 1 + LIST_COST


def _squared(values: list[Any]) -> int:
    text = bool(values) and isinstance(values[0], str | bytes)
    return _list_cost(len(values) ** 2, 2.0 + PER_CHARACTER if text else 2.0)


def _texts(run: Charge) -> Callable[[Overload], Charge | None]:
    """Charges for strings and bytes only; other types cost one unit."""
    return lambda overload: run if overload.params[0] in (types.STRING, types.BYTES) else None


def _always(run: Charge) -> Callable[[Overload], Charge | None]:
    return lambda overload: run


def _pairs(factor: int) -> Callable[[Overload], Charge | None]:
    return _always(lambda left, right: 1 + size(left) * size(right) * factor)


_BY_OVERLOAD: Final[dict[str, Callable[[Overload], Charge | None]]] = {
    **dict.fromkeys(("startsWith", "endsWith", "strings.quote", "format"), _always(_read)),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _texts(_compare)),
    "bytes": lambda overload: _read if overload.params[0] is types.STRING else None,
    "string": lambda overload: _read if overload.params[0] is types.BYTES else None,
    "ip": lambda overload: None if overload.member else _read,
    "@in": lambda overload: (lambda item, values: size(values)) if overload.params[1].name == "list" else None,
    "_+_": _texts(lambda left, right: scaled(size(left) + size(right), PER_CHARACTER)),
    "matches": lambda overload: _pattern if overload.member else None,
    "contains": _always(_contains),
    "slice": _always(lambda values, start, end: _list_cost(max(end - start, 0))),
    "lists.range": _always(lambda end: _list_cost(max(end, 0))),
    "reverse": _always(lambda values: _list_cost(len(values))),
    "flatten": _always(lambda values, depth=1: _list_cost(len(values), max(float(depth), 0.0))),
    "distinct": _always(_squared),
    "sort": _always(_squared),
    "@sortByAssociatedKeys": _always(lambda values, keys: _squared(keys)),
    "sets.contains": _pairs(1),
    "sets.intersects": _pairs(1),
    "sets.equivalent": _pairs(2),
}


def _replaced(text: str, old: str, new: str, limit: int = -1) -> int:
    found = len(text) + 1 if not old else text.count(old)
    return len(text) + len(new) * (found if limit < 0 else min(found, limit))


def _added(left: Any, right: Any) -> int:
    return len(left) + len(right) if isinstance(left, str | bytes | list) else 0


ROOM: Final[dict[str, Charge]] = {"_+_": _added, "replace": _replaced, "join": joined}
