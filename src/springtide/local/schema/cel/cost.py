# SPDX-License-Identifier: Apache-2.0
"""Cost limits of expressions: the budgets of kube-apiserver, and the meter of an evaluation.

A cost unit is cel-go's: about one operation, or reading ten characters. `estimates` computes the maximum cost of an
expression in advance, `charges` the cost of each call at run time.
"""

from __future__ import annotations

import math
import threading
from typing import Final, NamedTuple

PER_CALL: Final = 1_000_000
"""Maximum units of one evaluation of one expression."""
PER_OBJECT: Final = 10_000_000
"""Maximum units of all rules on one object."""
PER_RULE: Final = 10_000_000
"""Maximum estimated units of a rule on the largest object; a CRD with more is rejected."""
PER_CRD: Final = 100_000_000
"""The same for all rules of a version's schema together."""
LARGEST_REQUEST: Final = 3 * 1024 * 1024
"""Bytes of the largest request, from which the sizes of unbounded lists, maps and strings are estimated."""

PER_CHARACTER: Final = 0.1
PER_PATTERN_CHARACTER: Final = 0.25
LIST_COST: Final = 10
MAP_COST: Final = 30

UNLIMITED: Final = 2**64 - 1
ROOM_PER_CALL: Final = 20_000_000
"""Characters or items that an evaluation may produce beside its units; other work is converted to them."""
ROOM_PER_OBJECT: Final = 10 * ROOM_PER_CALL
COMPARISON: Final = 50
"""Room for the comparison of two nested elements."""
TURN: Final = 20
"""Room for one iteration of a loop, because some loops are free in cel-go."""
METER: Final = ""
"""Name of the meter among an evaluation's variables: no identifier can collide with it."""


class CostExceeded(Exception):
    """An evaluation has used up its budget. Not a `CelError`: no operator may absorb it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Meter:
    """Remaining budget of one evaluation.

    `room` bounds work that the units do not count: characters and items of computed strings and lists, and elements of
    lists and maps that are compared. cel-go charges a `replace` for its input only, joins lists without copying them
    and charges a comparison of nested lists only for the outermost, so a few cheap calls could take terabytes or hours.
    """

    __slots__ = ("left", "room")

    def __init__(self, limit: int = PER_CALL, room: int = ROOM_PER_CALL) -> None:
        self.left, self.room = limit, room

    def charge(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise CostExceeded

    def reserve(self, items: int) -> None:
        self.room -= items
        if self.room < 0:
            raise CostExceeded


class _Running(threading.local):
    meter: Meter = Meter()


RUNNING: Final = _Running()
"""The meter of the evaluation on this thread, for functions deep inside a comparison."""


class Size(NamedTuple):
    """Minimum and maximum size of a string, list or map."""

    least: int
    most: int

    def __or__(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))

    def plus(self, other: Size) -> Size:
        return Size(capped(self.least + other.least), capped(self.most + other.most))

    def times(self, other: Size) -> Size:
        return Size(capped(self.least * other.least), capped(self.most * other.most))


ONE: Final = Size(1, 1)
ANY_SIZE: Final = Size(0, UNLIMITED)


class Entry(NamedTuple):
    """Sizes of the keys and values of a list or map, where the expression determines them."""

    is_list: bool
    key: Size
    value: Size

    def __or__(self, other: Entry) -> Entry:
        return Entry(self.is_list, self.key | other.key, self.value | other.value)


class Estimate(NamedTuple):
    """Estimate of an expression."""

    cost: int = 0
    """Maximum units."""
    size: Size | None = None
    """The size of its value, if the expression determines it."""
    entry: Entry | None = None
    path: tuple[str, ...] = ()
    """Path of variable and fields to the value, from which the schema determines its size."""


def capped(units: int) -> int:
    return min(units, UNLIMITED)


def scaled(size: int, factor: float) -> int:
    """Units for a size at `factor` units each, rounded up."""
    product = math.ceil(float(size) * factor)
    return min(product, UNLIMITED)
