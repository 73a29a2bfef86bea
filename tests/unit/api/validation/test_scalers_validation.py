# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a ScaleOut or a ScaleIn is said with the path of the field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import arena
from tests.unit.api.any_shape import Changes, change, changes
from tests.unit.api.builders import a_scale_in, a_scale_out

from springtide.api.field_errors import MOST_ERRORS
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.scalers import MOST_ENV_BYTES, STARTED, ScaleIn, ScaleOut
from springtide.api.validation import scalers

MOST = 2**31 - 1
NO_JOB = "spec.selector.name: Required value: must be the name of the TrainingJob that is resized"
NOBODY = "spec.toDelete: Required value: must have count, the number of workers to remove, or podNames, their names"
LABEL = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"


def said(raw: dict[str, Any]) -> list[str]:
    return [str(error) for error in scalers.errors(raw)]


def variable(name: str, value: str = "x") -> dict[str, str]:
    return {"name": name, "value": value}


@pytest.mark.parametrize(
    "raw",
    [
        a_scale_out(),
        a_scale_out(MOST_WORKERS, timeout=0, backoffLimit=0, script="/opt/grow.sh", env=[]),
        a_scale_out(timeout=MOST, backoffLimit=MOST, script="grow.sh"),
        a_scale_out(env=[variable("A"), variable("_b1", "$(touch x); 'y' \"z\"\n"), {"name": "EMPTY"}]),
        a_scale_out(env=[variable("A", "x" * (MOST_ENV_BYTES - 1))]),
        a_scale_out(name="a" * 63),
        arena.scaleout(),
        arena.scaleout_with_script(),
        arena.scalein(),
        a_scale_in(),
        a_scale_in(name="a" * 253),
        a_scale_in({"podNames": ["bert-worker-0", "bert-worker-7"]}),
        a_scale_in({"podNames": ["bert-worker-0"], "count": 0}),
        a_scale_in({"podNames": ["bert-worker-0"], "count": 3}),
    ],
)
def test_these_are_fine(raw: dict[str, Any]) -> None:
    assert said(raw) == []


WRONG_IN_BOTH: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no selector": ({"selector": None}, [NO_JOB]),
    "a selector without a name": ({"selector": {}}, [NO_JOB]),
    "a selector with an empty name": ({"selector": {"name": ""}}, [NO_JOB]),
    "a selector of another type": (
        {"selector": "bert"},
        ['spec.selector: Invalid value: "string": must be of type object'],
    ),
    "a timeout below zero": ({"timeout": -1}, [f"spec.timeout: Invalid value: -1: must be between 0 and {MOST}"]),
    "a timeout without end": (
        {"timeout": MOST + 1},
        [f"spec.timeout: Invalid value: {MOST + 1}: must be between 0 and {MOST}"],
    ),
    "a timeout with a unit": (
        {"timeout": "10m"},
        ['spec.timeout: Invalid value: "string": must be of type integer'],
    ),
    "fewer retries than none": (
        {"backoffLimit": -1},
        [f"spec.backoffLimit: Invalid value: -1: must be between 0 and {MOST}"],
    ),
    "a script that is an option": (
        {"script": "-c"},
        ["spec.script: Invalid value: \"-c\": must be a path and not start with '-'"],
    ),
    "a script with NUL": (
        {"script": "/a\0b"},
        ['spec.script: Invalid value: "/a\\u0000b": must not contain NUL'],
    ),
    "a script without end": (
        {"script": "/" + "a" * 4096},
        ["spec.script: Too long: may not be more than 4096 bytes"],
    ),
    "variables that are none": (
        {"env": [variable(""), variable("1A"), variable("A-B"), variable("A=B"), variable("A\n")]},
        [
            "spec.env[0].name: Required value",
            *(
                f'spec.env[{index}].name: Invalid value: "{name}": must be a C identifier, such as MY_VARIABLE'
                for index, name in ((1, "1A"), (2, "A-B"), (3, "A=B"), (4, "A\\n"))
            ),
        ],
    ),
    "a value with NUL": (
        {"env": [variable("A", "\0")]},
        ['spec.env[0].value: Invalid value: "\\u0000": must not contain NUL'],
    ),
    "a variable of the operator": (
        {"env": [variable("SPRINGTIDE_SCALER_UID")]},
        ["spec.env[0].name: Forbidden: is set by the operator, to the scaler's uid"],
    ),
    "more than fits": (
        {"env": [variable("A", "é" * (MOST_ENV_BYTES // 2))]},
        [f"spec.env: Too long: may not be more than {MOST_ENV_BYTES} bytes"],
    ),
    "variables of another type": (
        {"env": {"A": "x"}},
        ['spec.env: Invalid value: "object": must be of type array'],
    ),
}


@pytest.mark.parametrize("build", [a_scale_out, a_scale_in])
@pytest.mark.parametrize(("spec", "errors"), WRONG_IN_BOTH.values(), ids=WRONG_IN_BOTH)
def test_these_are_refused_of_both_kinds(build: Any, spec: dict[str, Any], errors: list[str]) -> None:
    assert said(build(**spec)) == errors


@pytest.mark.parametrize("name", ["Bert", "9-lives", "a.b", "a" * 64, "bert/x"])
def test_a_selector_has_the_name_of_a_job(name: str) -> None:
    (error,) = said(a_scale_in(selector={"name": name}))
    assert error.startswith(f'spec.selector.name: Invalid value: "{name}": ')
    assert (LABEL if len(name) < 64 else "must be no more than 63 characters") in error


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no number": (
        a_scale_out(None),
        ["spec.toAdd.count: Required value: must be the number of workers to add"],
    ),
    "nothing to add": (
        a_scale_out(toAdd=None),
        ["spec.toAdd.count: Required value: must be the number of workers to add"],
    ),
    "adding none": (a_scale_out(0), ["spec.toAdd.count: Invalid value: 0: must be greater than 0"]),
    "adding less than none": (a_scale_out(-1), ["spec.toAdd.count: Invalid value: -1: must be greater than 0"]),
    "adding more than any job has": (
        a_scale_out(MOST_WORKERS + 1),
        [f"spec.toAdd.count: Invalid value: {MOST_WORKERS + 1}: must be at most {MOST_WORKERS}"],
    ),
    "adding text": (
        a_scale_out(toAdd={"count": "1"}),
        ['spec.toAdd.count: Invalid value: "string": must be of type integer'],
    ),
    "a name that is no value of a label": (
        a_scale_out(name="a" * 64),
        [
            f'metadata.name: Invalid value: "{"a" * 64}": must be no more than 63 characters, because it is the value '
            "of a label of the added pods"
        ],
    ),
    "nobody to remove": (a_scale_in({}), [NOBODY]),
    "no field for it": ({**a_scale_in(), "spec": {"selector": {"name": "bert"}}}, [NOBODY]),
    "no names": (a_scale_in({"podNames": []}), [NOBODY]),
    "removing none": (a_scale_in({"count": 0}), ["spec.toDelete.count: Invalid value: 0: must be greater than 0"]),
    "removing less than none, whatever the names": (
        a_scale_in({"count": -1, "podNames": ["a"]}),
        ["spec.toDelete.count: Invalid value: -1: must be greater than 0"],
    ),
    "names that are none, twice or too long": (
        a_scale_in({"podNames": ["a", "", "a", "b" * 254]}),
        [
            "spec.toDelete.podNames[1]: Required value: must be the name of a worker pod",
            'spec.toDelete.podNames[2]: Duplicate value: "a"',
            "spec.toDelete.podNames[3]: Too long: may not be more than 253 bytes",
        ],
    ),
    "more names than any job has workers": (
        a_scale_in({"podNames": [str(number) for number in range(MOST_WORKERS + 1)]}),
        [f"spec.toDelete.podNames: Too many: {MOST_WORKERS + 1}: must have at most {MOST_WORKERS} items"],
    ),
    "names of another type": (
        a_scale_in({"podNames": "bert-worker-0"}),
        ['spec.toDelete.podNames: Invalid value: "string": must be of type array'],
    ),
    "another kind": (
        {**a_scale_out(), "kind": "Scale"},
        ['kind: Unsupported value: "Scale": supported values: "ScaleIn", "ScaleOut"'],
    ),
    "no kind": ({}, ['kind: Unsupported value: null: supported values: "ScaleIn", "ScaleOut"']),
}


@pytest.mark.parametrize(("raw", "errors"), WRONG.values(), ids=WRONG)
def test_these_are_refused(raw: dict[str, Any], errors: list[str]) -> None:
    assert said(raw) == errors


@pytest.mark.parametrize("phase", STARTED)
@pytest.mark.parametrize("old", [a_scale_out(), a_scale_in()], ids=lambda raw: raw["kind"])
def test_a_scaler_whose_turn_has_come_keeps_its_spec(old: dict[str, Any], phase: str) -> None:
    old = old | {"status": {"phase": phase}}
    new = old | {"spec": {**old["spec"], "timeout": 600}}
    (error,) = scalers.changed_when_started(old, new)
    assert str(error) == (
        f"spec: Forbidden: is immutable in phase {phase}; create another {old['kind']}, or delete this one to cancel it"
    )
    labelled = old | {"metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert scalers.changed_when_started(old, labelled) == []


@pytest.mark.parametrize("status", [{}, {"status": None}, {"status": {"phase": "Created"}}])
def test_a_scaler_that_waits_may_be_changed(status: dict[str, Any]) -> None:
    assert scalers.changed_when_started(a_scale_out() | status, a_scale_out(2)) == []


@pytest.mark.parametrize(
    "raw",
    [
        a_scale_in({"podNames": [""] * 90_000}),
        a_scale_in({"podNames": ["x"] * 90_000}),
        a_scale_out(env=[variable("")] * 90_000),
        a_scale_out(env=[variable("-" * 1000)] * 5_000),
    ],
)
def test_errors_without_number_are_cut_short(raw: dict[str, Any]) -> None:
    found = scalers.errors(raw)
    assert len(found) <= MOST_ERRORS + 1
    assert found[-1].message.startswith("Too many")


@given(st.booleans(), changes())
def test_an_object_of_any_shape_is_either_refused_or_has_a_meaning(out: bool, changed: Changes) -> None:
    fields: dict[str, Any] = {"env": [variable("A")], "script": "/a", "timeout": 9, "backoffLimit": 1}
    raw = a_scale_out(**fields) if out else a_scale_in({"count": 1, "podNames": ["a"]}, **fields)
    change(raw, changed)
    before = msgspec.json.encode(raw)
    if not scalers.errors(raw):
        kind: Any = ScaleOut if raw["kind"] == "ScaleOut" else ScaleIn
        assert msgspec.convert(raw, kind).spec.selector.name
    assert msgspec.json.encode(raw) == before, "a raw object is only ever read"
