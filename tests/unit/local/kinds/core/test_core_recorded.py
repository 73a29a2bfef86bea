# SPDX-License-Identifier: Apache-2.0
"""Every write and table row here was once given to kube-apiserver; ours must answer the same."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.unit.local.kinds.core.writing import answers, create, defaulted, merged, strategy_of, update

from springtide.local.kinds.strategy import Obj

CREATED, UPDATED, ROWS = answers("created"), answers("updated"), answers("rows")


def named(cases: list[Any]) -> Any:
    return [pytest.param(case, id=f"{case['kind']}: {case['name']}") for case in cases]


def first_lines(errors: list[Any]) -> list[str]:
    """Some messages end in a printed difference of Go structs, which nobody should depend on."""
    return [str(error).partition("\n")[0] for error in dict.fromkeys(errors)]


@pytest.mark.parametrize("case", named([case for case in CREATED if "errors" in case]))
def test_a_bad_object_is_refused_in_the_same_words(case: Obj) -> None:
    _, errors = create(case)
    said, expected = first_lines(errors), case["errors"]
    if case.get("any_order"):  # of a Go map, which has none
        said, expected = sorted(said), sorted(expected)
    assert said == expected


@pytest.mark.parametrize("case", named([case for case in CREATED if "result" in case]))
def test_a_good_object_is_completed_in_the_same_way(case: Obj) -> None:
    obj, errors = create(case)
    assert not errors
    assert without_admission(case, obj) == case["result"]
    assert strategy_of(case).warnings(obj) == case.get("warnings", [])


def without_admission(case: Obj, obj: Obj) -> Obj:
    """What varies from one write to the next, and what the recording left out."""
    seen = deepcopy({key: value for key, value in obj.items() if key not in ("kind", "apiVersion")})
    for field in ("uid", "creationTimestamp"):
        seen["metadata"].pop(field)
    if case["kind"] == "Pod":
        seen["spec"].pop("tolerations", None)
    if case["kind"] == "PersistentVolume":
        assert seen["status"].pop("lastPhaseTransitionTime")
    if case["kind"] == "Service" and seen["spec"].get("clusterIP", "None") != "None":
        del seen["spec"]["clusterIP"], seen["spec"]["clusterIPs"]
    return seen


@pytest.mark.parametrize("case", named([case for case in CREATED if "result" in case]))
def test_defaults_leave_a_complete_object_as_it_is(case: Obj) -> None:
    once = defaulted(case, case["object"])
    twice = deepcopy(once)
    strategy_of(case).default(twice)
    assert twice == once


@pytest.mark.parametrize("case", named([case for case in UPDATED if "errors" in case]))
def test_a_forbidden_change_is_refused_in_the_same_words(case: Obj) -> None:
    _, errors = update(case)
    assert first_lines(errors) == case["errors"]


@pytest.mark.parametrize("case", named([case for case in UPDATED if "result" in case]))
def test_an_allowed_change_has_the_same_outcome(case: Obj) -> None:
    obj, errors = update(case)
    assert not errors
    expected = merged(case["old"], case["result"])
    for seen in (obj, expected):
        for field in ("resourceVersion", "generation"):
            seen["metadata"].pop(field, None)
    assert obj == expected


@pytest.mark.parametrize("case", named(ROWS))
def test_a_table_row_shows_the_same_cells(case: Obj) -> None:
    strategy = strategy_of(case)
    assert strategy.cells is not None
    assert list(strategy.cells(case["object"], case["now"])) == case["cells"]
    assert len(strategy.columns) == len(case["cells"])
