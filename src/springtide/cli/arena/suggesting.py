# SPDX-License-Identifier: Apache-2.0
"""Which names a mistyped one may mean, as the library cobra guesses: at most two edits away, or the same beginning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_EDITS: Final = 2


def meant(typed: str, names: Iterable[str]) -> list[str]:
    lower = typed.lower()
    return [name for name in names if name.lower().startswith(lower) or _distance(lower, name.lower()) <= _EDITS]


def _distance(one: str, other: str) -> int:
    """Insertions, deletions and replacements between two words (Levenshtein)."""
    row = list(range(len(other) + 1))
    for position, char in enumerate(one, 1):
        diagonal, row[0] = row[0], position
        for index, counterpart in enumerate(other, 1):
            replaced = diagonal + (char != counterpart)
            diagonal, row[index] = row[index], min(row[index] + 1, row[index - 1] + 1, replaced)
    return row[-1]
