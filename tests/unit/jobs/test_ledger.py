# SPDX-License-Identifier: Apache-2.0
"""Annotations that somebody else has written: the pods are believed instead, and nothing is raised."""

from __future__ import annotations

import base64
import json
import random
import uuid
import zlib

import pytest
from tests import hostile

from springtide.jobs import ledger
from springtide.jobs.ledger import ANNOTATION, NEXT_INDEX, Ledger, Move, token
from springtide.jobs.observed import Pod
from springtide.jobs.policies.whole_job_restart import MOST
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


LIMIT = 256 * 1024
"""Characters of all annotations of an object."""


def uids(count: int) -> list[str]:
    return [str(uuid.UUID(int=random.Random(number).getrandbits(128), version=4)) for number in range(count)]


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(Ledger(retried=tuple(map(token, uids(MOST))), restarts=5), id="all restarted together"),
        pytest.param(Ledger(in_place={token(uid): 3 for uid in uids(10_000)}), id="all restarted in place"),
        pytest.param(Ledger(done=tuple(f"{'long-name-' * 5}-worker-{n}" for n in range(20_000))), id="all succeeded"),
    ],
)
def test_the_ledger_of_the_largest_jobs_fits_and_is_read(kept: Ledger) -> None:
    written = kept.annotations()
    assert sum(len(name) + len(text) for name, text in written.items()) < LIMIT - 16 * 1024  # decisions are kept beside
    assert ledger.read(written, ()) == kept


def test_a_short_ledger_can_be_read_by_users() -> None:
    assert Ledger(retried=("a",)).annotations()[ANNOTATION] == '{"retried":["a"]}'


def test_whole_uids_that_an_earlier_release_wrote_are_known() -> None:
    (uid,) = uids(1)
    found = ledger.read({ANNOTATION: json.dumps({"retried": [uid], "in_place": {uid: 2}})}, ())
    assert found.has_retried(Pod("a", uid, "Worker"))
    assert found.in_place[token(uid)] == 2


def test_tokens_of_a_large_job_differ() -> None:
    assert len(set(map(token, uids(20_000)))) == 20_000


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(b"not compressed", id="not compressed"),
        pytest.param(zlib.compress(b'{"restarts":1}')[:-6], id="cut off"),
        pytest.param(zlib.compress(b" " * (64 << 20) + b'{"restarts":1}'), id="far too long"),
    ],
)
def test_a_compressed_ledger_that_nobody_can_have_written_is_as_good_as_missing(packed: bytes) -> None:
    assert ledger.read({ANNOTATION: "zlib:" + base64.b64encode(packed).decode()}, ()) == Ledger()


@pytest.mark.parametrize("text", ["zlib:", "zlib:?", "zlib:é", "zlib:QUJD"])
def test_so_is_what_is_not_encoded(text: str) -> None:
    assert ledger.read({ANNOTATION: text}, ()) == Ledger()
