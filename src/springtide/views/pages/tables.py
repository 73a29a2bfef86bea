# SPDX-License-Identifier: Apache-2.0
"""Tables as text: Go's tabwriter, as Arena uses it, and tables that fit a terminal.

Widths are counted in characters by Go, and here in columns of the terminal: East Asian characters take two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from springtide.messages.terminals import harmless

PADDING: Final = 2
_ELLIPSIS: Final = "…"
_WIDE: Final = ("W", "F")
_NO_WIDTH: Final = ("Mn", "Me", "Cf", "Cc")


def tabwriter(text: str) -> str:
    """What Go's tabwriter makes of the text, with a padding of two spaces. Cells end with a tab; the last one of a line
    belongs to no column. A column is as wide as the widest cell of the lines that follow each other and have it."""
    lines = [line.split("\t") for line in text.split("\n")]
    widths: list[list[int]] = [[] for _ in lines]
    _measure(lines, widths, range(len(lines)), 0)
    return "\n".join(_padded(cells, found, len) for cells, found in zip(lines, widths, strict=True))


def _measure(lines: Sequence[Sequence[str]], widths: Sequence[list[int]], block: Sequence[int], column: int) -> None:
    for part in _runs(lines, block, column):
        width = max(len(lines[each][column]) for each in part) + PADDING
        for each in part:
            widths[each].append(width)
        _measure(lines, widths, part, column + 1)


def _runs(lines: Sequence[Sequence[str]], block: Iterable[int], column: int) -> list[list[int]]:
    """The lines of the block that have this column, as long as they follow each other."""
    found: list[list[int]] = []
    last = -2
    for each in block:
        if len(lines[each]) - 1 <= column:
            continue
        if each != last + 1:
            found.append([])
        found[-1].append(each)
        last = each
    return found


def _padded(cells: Sequence[str], widths: Sequence[int], measure: Callable[[str], int]) -> str:
    padded = (cell + " " * (width - measure(cell)) for cell, width in zip(cells, widths, strict=False))
    return "".join(padded) + cells[-1]


def display_width(text: str) -> int:
    """The columns that a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def printable(text: str) -> str:
    """The text in one line, without characters that a terminal would obey: messages quote what programs wrote."""
    return text if text.isprintable() else harmless(" ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """The text in at most so many columns of the terminal; one that does not fit ends with an ellipsis."""
    if display_width(text) <= width:
        return text
    kept, left = "", width - 1
    for character in text:
        left -= _width(character)
        if left < 0:
            break
        kept += character
    return kept + _ELLIPSIS if width > 0 else ""


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most so many columns, broken at blanks and beside East Asian characters. A word that is
    longer than a line stays whole: it may be a command."""
    lines, line = [], ""
    for token in _TOKENS.findall(text):
        if line.strip() and display_width(line + token.rstrip()) > width:
            lines.append(line.rstrip())
            line = token.lstrip()
        else:
            line += token
    return [*lines, line.rstrip()]


_TOKENS: Final = re.compile(r"\s+|(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]+)[，。；：、！？）]*")
"""A stop does not begin a line."""


def shortened_inside(text: str, width: int) -> str:
    """Like `shortened`, but with the ellipsis in the middle: names of pods differ at their ends."""
    if display_width(text) <= width or width < _INSIDE:
        return shortened(text, width)
    end, left = "", (width - 1) // 2
    for character in reversed(text):
        left -= _width(character)
        if left < 0:
            break
        end = character + end
    return shortened(text, width - display_width(end)) + end


_INSIDE: Final = 5


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    rank: int = 0
    """A table that is too wide for its terminal loses the columns of the highest rank first; 0: never."""
    shrinks: bool = False
    """Whether its cells may be shortened."""
    differs_at_end: bool = False
    """They are shortened in the middle."""


_LEGIBLE: Final = 16
"""Rather than shortening cells further, columns are left out."""
_NARROWEST: Final = 8
"""Cells are not shortened further even if no column is left to be left out: what remains would say nothing."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Aligned columns, two spaces apart, with their heads. `width` is that of a terminal; None: everything is shown."""
    rows = [[printable(cell) for cell in row] for row in rows]
    kept = list(range(len(columns)))
    widths = [
        max(display_width(column.head), *(display_width(row[at]) for row in rows)) if rows else len(column.head)
        for at, column in enumerate(columns)
    ]
    if width is not None:
        kept = _fitting(columns, widths, width)
        _shrink(columns, kept, widths, width)
    lines = ([column.head for column in columns], *rows)
    shown, room = [columns[at] for at in kept], [widths[at] for at in kept]
    return "\n".join(_line(shown, [line[at] for at in kept], room) for line in lines)


def _line(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [
        (shortened_inside if column.differs_at_end else shortened)(cell, width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    ]
    padding = (" " * (width - display_width(cell) + PADDING) for cell, width in zip(fitted, widths, strict=True))
    return "".join(cell + after for cell, after in zip(fitted, padding, strict=True)).rstrip()


def _total(kept: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[at] for at in kept) + PADDING * (len(kept) - 1)


def _fitting(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """The columns that are shown: those that can be shortened count as if they were."""
    least = [
        min(each, max(_LEGIBLE, len(column.head))) if column.shrinks else each
        for column, each in zip(columns, widths, strict=True)
    ]
    kept = list(range(len(columns)))
    while _total(kept, least) > width and any(columns[at].rank for at in kept):
        kept.remove(max(kept, key=lambda at: columns[at].rank))
    return kept


def _shrink(columns: Sequence[Column], kept: Sequence[int], widths: list[int], width: int) -> None:
    """Takes what is missing from the columns that may be shortened, always from the widest."""
    least = {at: max(_NARROWEST, len(columns[at].head)) for at in kept if columns[at].shrinks}
    for _ in range(_total(kept, widths) - width):
        able = [at for at in least if widths[at] > least[at]]
        if not able:
            return
        widths[max(able, key=lambda at: widths[at])] -= 1


class Rows:
    """Lines of a table that come one after another: the heads first, and columns that grow with what comes."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._widths = [len(column.head) for column in columns]
        self._begun = False

    def line(self, row: Sequence[str]) -> str:
        cells = [printable(cell) for cell in row]
        self._widths = [max(width, display_width(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        lines = [_line(self._columns, cells, self._widths)]
        if not self._begun:
            self._begun = True
            lines.insert(0, _line(self._columns, [column.head for column in self._columns], self._widths))
        return "\n".join(lines)
