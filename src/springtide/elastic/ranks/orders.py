# SPDX-License-Identifier: Apache-2.0
"""A shuffled order of which any part is available at once, the same on all ranks. Pure: the key is the seed.

Shuffling a million samples takes a second in which the others would wait for a new rank, and no rank needs more of the
order than its next batch. So an index is mapped by a permutation instead: a Feistel network on the rows and columns of
a table with about as many cells as there are samples. A round shifts the row by a number that depends on the column,
then the column by one that depends on the row. This is invertible, so no two indices lead to the same cell. A cell
beyond the last sample is mapped again, until one within the range results.
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
        """The samples at these positions, each of them below the length."""
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
