# SPDX-License-Identifier: Apache-2.0
"""Sets of completion indexes, and their text form in a Job's status: `0-3,5,7,8`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from springtide.api import whole_numbers

Indexes = Set[int]
NONE: frozenset[int] = frozenset()
MOST = 1_000_000
"""The maximum per Job: a forged status may name two billion indexes in a dozen characters."""


def parse(text: str, completions: int) -> frozenset[int]:
    """Drops indexes at or beyond `completions`, since an elastic Job may have shrunk, and invalid parts."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        start, end = whole_numbers.parse(first), whole_numbers.parse(last or first)
        if start is not None and end is not None and start >= 0:
            found.update(range(start, min(end + 1, completions))[: MOST - len(found)])
    return frozenset(found)


def render(indexes: Iterable[int]) -> str:
    """Two neighbours are written `1,2` and only longer runs `1-3`, as kube-controller-manager does."""
    return ",".join(_run(first, last) for first, last in _runs(sorted(indexes)))


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"


def _runs(ordered: list[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for position in range(1, len(ordered) + 1):
        if position == len(ordered) or ordered[position] != ordered[position - 1] + 1:
            yield ordered[start], ordered[position - 1]
            start = position


def first_missing(taken: Indexes, count: int, completions: int) -> tuple[int, ...]:
    """The lowest `count` indexes below `completions` that are not taken."""
    found: list[int] = []
    for index in range(completions):
        if len(found) >= count:
            break
        if index not in taken:
            found.append(index)
    return tuple(found)
