# SPDX-License-Identifier: Apache-2.0
"""The judge is judged: what counts as a difference, what is taken out first, what the table may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contract.apiserver.comparing import Accepted, Difference, accepted, complaints, differences
from tests.contract.apiserver.normal import normalised
from tests.contract.apiserver.playing import Answer
from tests.contract.apiserver.scenarios import Scenario, Step

UIDS = [f"{digit * 8}-0000-4000-8000-000000000000" for digit in "12"]


def shown(*bodies: Any, **step: Any) -> list[Any]:
    steps = tuple(Step(f"s{index}", "GET", "/", **step) for index in range(len(bodies)))
    answers = {each.name: Answer(200, {}, body) for each, body in zip(steps, bodies, strict=True)}
    scenario = Scenario("x", "x", steps)
    return [answer["body"] for answer in normalised(scenario, "judge-1", answers).values()]


def test_the_same_uid_is_seen_again_and_another_one_is_not() -> None:
    assert shown({"a": UIDS[0], "b": UIDS[1]}, {"c": UIDS[0]}) == [{"a": "<uid-1>", "b": "<uid-2>"}, {"c": "<uid-1>"}]


def test_versions_keep_their_order() -> None:
    first, second = ({"metadata": {"name": "a", "resourceVersion": version}} for version in ("70", "9"))
    listed = {"metadata": {"resourceVersion": "75"}, "items": []}
    bodies = shown(first, second, listed)
    assert [body["metadata"]["resourceVersion"] for body in bodies] == ["<version-2>", "<version-1>", "<at-version-2>"]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2026-01-01T00:00:00Z", "<time>"),
        ("2026-01-01T00:00:00.123456Z", "<microtime>"),
        ("2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z"),
        ('pods "a" in judge-1', 'pods "a" in ${ns}'),
        ("10.96.3.4", "<address-1>"),
        ("10.96.0.0/16", "10.96.0.0/16"),
        ("kube-api-access-abcde", "kube-api-access-<suffix>"),
        ("Too large resource version: 99, current: 7", "Too large resource version: 99, current: <version>"),
    ],
)
def test_what_may_differ_is_taken_out(text: str, normal: str) -> None:
    assert shown({"text": text}) == [{"text": normal}]


def test_generated_names_are_numbered() -> None:
    made = {"metadata": {"generateName": "made-", "name": "made-x2x4z"}}
    assert shown(made, {"message": "made-x2x4z exists"})[1] == {"message": "made-<suffix-1> exists"}


def test_only_the_parts_a_scenario_is_about_are_kept() -> None:
    assert shown({"a": {"b": [1, 2]}, "c": 3}, keep=("a/b/1", "d")) == [{"a/b/1": 2, "d": "<absent>"}]


def test_a_difference_is_named_by_its_path() -> None:
    found = differences({"s": {"body": {"a": [1, 2]}}}, {"s": {"body": {"a": [1, 3], "b": True}}})
    assert [(each.path, each.real, each.ours) for each in found] == [("body.a[1]", 2, 3), ("body.b", "(absent)", True)]


def test_one_is_not_true() -> None:
    assert differences({"s": {"a": 1}}, {"s": {"a": True}})


def test_an_unlisted_difference_and_a_listed_one_that_is_gone_are_complaints() -> None:
    found = [Difference("s", "body.a", 1, 2)]
    table = [Accepted("D1", "x", "s", "body.*"), Accepted("D2", "x", "t", "*"), Accepted("D3", "other", "s", "*")]
    assert complaints("x", found, table[:1]) == []
    assert complaints("x", found, []) == ["s body.a\n    real: 1\n    ours: 2"]
    assert complaints("x", found, table) == ["D2 in docs/differences.md no longer occurs: x/t *"]


def test_the_table_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| id | where | reason |\n|---|---|---|\n| D7 | `a/b body.*` `a/c` | because |\n")
    assert accepted(page) == [Accepted("D7", "a", "b", "body.*"), Accepted("D7", "a", "c", "*")]
