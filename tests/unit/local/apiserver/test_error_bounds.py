# SPDX-License-Identifier: Apache-2.0
"""What answers quote of what users write has a bound, whichever parameter or field it is."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import msgspec
import pytest
from tests.unit.local.apiserver.builders import a_resource

from springtide.api.field_errors import LONGEST_VALUE, MOST_ERRORS, MOST_TEXT
from springtide.local import status
from springtide.local.apiserver.requests import Query
from springtide.local.apiserver.verbs.options import list_options, revision_of, whole_number
from springtide.local.apiserver.verbs.selecting import predicate
from springtide.local.status import LONGEST_MESSAGE, LONGEST_SENTENCE, StatusError
from springtide.local.streams import kubelet

LONG = "x" * 260_000
FEW = 4 * LONGEST_VALUE
"""Characters of an answer that quotes two values."""


def answer(error: StatusError) -> int:
    return len(msgspec.json.encode(error.as_object()))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: predicate(a_resource("pods"), "", LONG),
        lambda: predicate(a_resource("pods"), "", f"{LONG}=1"),
        lambda: predicate(a_resource("leases", "coordination.k8s.io"), "", f"{LONG}=1"),
        lambda: predicate(a_resource("pods"), f"a b{LONG}", ""),
        lambda: predicate(a_resource("pods"), f"a=b {LONG}", ""),
        lambda: predicate(a_resource("pods"), LONG, ""),
        lambda: list_options(Query(f"limit={LONG}"), watch=False),
        lambda: list_options(Query(f"timeoutSeconds={LONG}"), watch=True),
        lambda: revision_of(LONG),
        lambda: revision_of("1" * 260_000),
        lambda: whole_number("1" * 260_000),
        lambda: kubelet.number({"tailLines": [LONG]}, "tailLines"),
        lambda: kubelet.container_of({"metadata": {"name": "p"}, "spec": {}}, LONG),
    ],
    ids=[
        "field selector",
        "unknown field",
        "unknown field of another kind",
        "word instead of an operator",
        "word after a value",
        "name of a label",
        "limit",
        "timeout",
        "version",
        "digits of a version",
        "digits",
        "number of lines",
        "container",
    ],
)
def test_bad_requests_quote_the_beginning_of_long_values(ask: Callable[[], object]) -> None:
    with pytest.raises(StatusError) as refused:
        ask()
    assert refused.value.code == 400
    assert answer(refused.value) < FEW


def test_a_selector_of_many_bad_values_is_refused_in_a_few_words() -> None:
    values = ",".join(f"-{number}" for number in range(20_000))
    with pytest.raises(StatusError) as refused:
        predicate(a_resource("pods"), f"a in ({values})", "")
    assert answer(refused.value) < 2 * LONGEST_SENTENCE


@pytest.mark.parametrize(
    "error",
    [
        status.bad_request(quote(LONG)),
        status.not_found("", "pods", LONG),
        status.already_exists("", "pods", LONG),
        status.conflict("", "pods", LONG, LONG),
        status.forbidden("", "pods", LONG, LONG),
        status.internal(LONG),
    ],
    ids=lambda error: error.reason,
)
def test_every_refusal_is_short(error: StatusError) -> None:
    assert answer(error) < 3 * LONGEST_SENTENCE


def test_causes_are_listed_up_to_a_number_and_a_length() -> None:
    many = StatusError(409, "Conflict", "m", {"causes": [{"field": f".data.{i}"} for i in range(50_000)]})
    assert len(many.details["causes"]) == MOST_ERRORS + 1
    long = StatusError(409, "Conflict", LONG * 2, {"causes": [{"field": LONG} for _ in range(900)]})
    assert answer(long) < LONGEST_MESSAGE + MOST_TEXT + 2 * len(LONG)
