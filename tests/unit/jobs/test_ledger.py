# SPDX-License-Identifier: Apache-2.0
"""Annotations that somebody else has written: the pods are believed instead, and nothing is raised."""

from __future__ import annotations

import pytest
from tests import hostile

from springtide.jobs import ledger
from springtide.jobs.ledger import ANNOTATION, NEXT_INDEX, Ledger, Move
from springtide.jobs.reporting import decision_log

TEXTS = {name: line.decode(errors="replace") for name, line in hostile.LINES.items()} | {
    "a field of the ledger": '{"members":' + "[" * 50_000,
    "an index of 5,000 digits": '{"members":[' + "9" * 5000 + "]}",
    "an index that no job has come to": '{"members":[4294967296],"listed":[4294967296]}',
    "a negative index": '{"members":[-2]}',
    "an index that is none": '{"members":[1.5,"x",null]}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_what_cannot_be_read_is_as_good_as_missing(text: str) -> None:
    assert ledger.read({ANNOTATION: text}, ()) == Ledger()
    assert ledger.read({NEXT_INDEX: text}, ()).next_index in (0, 1)
    assert decision_log.log({decision_log.ANNOTATION: text}) == ()


@pytest.mark.parametrize("given", ["9" * 5000, "99999999999", "-1", "1e9", "²", "0x10", "", " ", "NaN"])
def test_an_index_that_no_job_can_have_is_none(given: str) -> None:
    assert ledger.read({NEXT_INDEX: given}, ()).next_index == 0


def test_a_move_that_was_written_by_an_earlier_release_is_read() -> None:
    found = ledger.read({ANNOTATION: '{"moved":{"toy-worker-1":{"uid":"u","node":"a"}}}'}, ())
    assert found.moved["toy-worker-1"].nodes == ("a",)


def test_all_nodes_of_a_move_are_read() -> None:
    kept = Ledger(moved={"toy-worker-1": Move("u", "b", ("a",))})
    assert ledger.read(kept.annotations(), ()) == kept


def test_what_was_written_is_read() -> None:
    kept = Ledger(next_index=7, members=(3, 5), listed=(3,), used=(1, 3))
    assert ledger.read(kept.annotations(), ()) == kept
