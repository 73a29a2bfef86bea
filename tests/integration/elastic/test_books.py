# SPDX-License-Identifier: Apache-2.0
"""The judge of what ranks noted: what it forgives, and what it finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.elastic import books
from tests.integration.elastic.books import Entry

# Two epochs of five samples, in batches of four: first by two ranks, then by one, after a death in step 3.
FIRST = [Entry((0, 1), 1, 2, 0, (0, 2)), Entry((0, 1), 1, 2, 0, (4, 1))]
SECOND = [Entry((0, 1), 2, 2, 0, (3,)), Entry((0, 1), 2, 2, 0, ())]
IN_VAIN = [Entry((0, 1), 3, 2, 1, (1, 3))]
AGAIN = [Entry((0, 2), 3, 1, 1, (1, 0, 3, 2))]
LAST = [Entry((1, 1), 4, 1, 1, (4,))]
ALL = [*FIRST, *SECOND, *IN_VAIN, *AGAIN, *LAST]
PLAIN = {"steps": 2, "total": 2.0, "losses": [1.0, 0.5]}


def faults(entries: list[Entry]) -> list[str]:
    return list(books.faults(books.counted(entries), steps=4, epochs=2, samples=5))


def test_a_step_counts_as_it_was_done_last() -> None:
    assert faults(ALL) == []


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        (ALL[:-1], "steps are missing, or too many: 4"),
        ([*ALL, replace(LAST[0], step=5, samples=())], "steps are missing, or too many: 5"),
        (ALL[1:], "step 1 was done by 1 of {2} ranks"),
        (
            [replace(FIRST[0], samples=(0, 1)), *ALL[1:]],
            "epoch 0: samples that were not taken once: 1, 2",
        ),
        ([*ALL, replace(IN_VAIN[0], attempt=(0, 3))], "step 3 was done by 1 of {2} ranks"),
        ([*ALL[:-1], replace(LAST[0], samples=(4, 9))], "epoch 1: there are no such samples: 9"),
    ],
)
def test_what_is_wrong_is_found(entries: list[Entry], fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(entries)), faults(entries)


def test_what_was_learned_is_held_against_what_one_process_learns() -> None:
    same = PLAIN | {"losses": [1.0, 0.5 + 1e-12]}
    assert list(books.unequal([PLAIN, same], PLAIN)) == []
    assert list(books.unequal([], PLAIN)) == ["nobody came to the end"]
    assert list(books.unequal([PLAIN | {"total": 3.0}], PLAIN)) == ["2 steps, counted 3.0 times, instead of 2"]
    assert list(books.unequal([PLAIN | {"losses": [1.0, 0.51]}], PLAIN)) == ["the loss is another one from step 2 on"]


def test_a_line_that_was_cut_short_was_not_done(tmp_path: Path) -> None:
    whole = '{"generation": 1, "step": 1, "size": 1, "epoch": 0, "samples": [3]}\n'
    (tmp_path / "book.0").write_text(whole + whole[:40])
    assert books.read([tmp_path]) == [Entry((0, 1), 1, 1, 0, (3,))]
