# SPDX-License-Identifier: Apache-2.0
"""A shuffled order of which any part can be had at once, alike on all ranks. Pure: the key seeds what is random.

To shuffle a million samples takes a second in which the others wait for a newcomer, and nobody needs more of the order
than its next batch. So a place is put through a permutation instead: a Feistel network on the rows and columns of a
table with about as many cells as there are samples. A round moves the row by something that depends on the column, and
then the column by something that depends on the row. That can be undone, so no two places lead to the same cell. A cell
beyond the last sample is put through again, until one within comes out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Final

_ROUNDS: Final = 3


class Order:
    def __init__(self, length: int, key: str) -> None:
        self._length = length
        self._rows = math.isqrt(max(length - 1, 0)) + 1
        self._columns = max(-(-length // self._rows), 1)
        source = random.Random(key)
        rows, columns = range(self._rows), range(self._columns)
        self._moves = [
            (source.choices(rows, k=len(columns)), source.choices(columns, k=len(rows))) for _ in range(_ROUNDS)
        ]

    def at(self, places: Iterable[int]) -> list[int]:
        """What stands at these places, each of them below the length."""
        rows, columns, found = self._rows, self._columns, []
        for place in places:
            cell = self._length
            row, column = divmod(place, columns)
            while cell >= self._length:
                for by_column, by_row in self._moves:
                    row = (row + by_column[column]) % rows
                    column = (column + by_row[row]) % columns
                cell = row * columns + column
            found.append(cell)
        return found
