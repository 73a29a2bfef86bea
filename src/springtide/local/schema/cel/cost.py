# SPDX-License-Identifier: Apache-2.0
"""What an expression may cost: the budgets of kube-apiserver, and the meter that an evaluation runs on.

A cost unit is cel-go's: about one operation, or ten characters that are read. `estimates` says before how much an
expression can cost at most, `charges` says while it runs what each call costs.
"""

from __future__ import annotations

import math
import threading
from typing import Final, NamedTuple

PER_CALL: Final = 1_000_000
"""Units that one evaluation of one expression may use."""
PER_OBJECT: Final = 10_000_000
"""Units that all rules may use on one object."""
PER_RULE: Final = 10_000_000
"""Units that a rule may be estimated to use on the largest object, for a CRD to be accepted."""
PER_CRD: Final = 100_000_000
"""The same for all rules of a version's schema together."""
LARGEST_REQUEST: Final = 3 * 1024 * 1024
"""Bytes of the largest request, from which the size of unbounded lists, maps and strings is estimated."""

PER_CHARACTER: Final = 0.1
PER_PATTERN_CHARACTER: Final = 0.25
LIST_COST: Final = 10
MAP_COST: Final = 30

UNLIMITED: Final = 2**64 - 1
ROOM_PER_CALL: Final = 20_000_000
"""Characters or items that an evaluation may make beside its units; other work is counted as so many of them."""
ROOM_PER_OBJECT: Final = 10 * ROOM_PER_CALL
COMPARISON: Final = 50
"""Room that the comparison of two nested elements takes."""
TURN: Final = 20
"""Room that a turn of a loop takes, because cel-go lets some loops run for nothing."""
METER: Final = ""
"""The meter's name among an evaluation's variables: no identifier can collide with it."""


class CostExceeded(Exception):
    """An evaluation used up its budget. Not a `CelError`: no operator may absorb it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Meter:
    """What is left to one evaluation.

    `room` bounds work that the units do not count: characters and items of computed strings and lists, and elements of
    lists and maps that are compared. cel-go charges a `replace` for its input only, joins lists without copying them
    and compares nested lists for the price of the outermost, so a few cheap calls could take terabytes or hours.
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
"""The meter of the evaluation that this thread runs, for functions deep inside a comparison."""


class Size(NamedTuple):
    """The least and the largest size a string, list or map can have."""

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
    """The sizes of what a list or map holds, where the expression itself tells them."""

    is_list: bool
    key: Size
    value: Size

    def __or__(self, other: Entry) -> Entry:
        return Entry(self.is_list, self.key | other.key, self.value | other.value)


class Estimate(NamedTuple):
    """What is known beforehand about an expression."""

    cost: int = 0
    """The most units that it can use."""
    size: Size | None = None
    """The size of its value, if the expression tells."""
    entry: Entry | None = None
    path: tuple[str, ...] = ()
    """Variable and fields that lead to the value, from where the schema tells its size."""


def capped(units: int) -> int:
    return min(units, UNLIMITED)


def scaled(size: int, factor: float) -> int:
    """Units for a size at so many units each, rounded up."""
    product = math.ceil(float(size) * factor)
    return min(product, UNLIMITED)
