# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.controllers.scalers.parts import IN, OUT, a_scaler, view

from springtide.controllers.scalers import reading
from springtide.jobs.scaling.scaler import Scaler


def test_a_scale_out_is_read_with_its_defaults() -> None:
    assert reading.scaler(OUT, view(a_scaler())) == Scaler(
        kind="ScaleOut",
        name="grow",
        uid="u-grow",
        resource_version="7",
        created=datetime(2026, 11, 16, 8, tzinfo=UTC),
        count=1,
        timeout=timedelta(seconds=60),
    )


def test_a_scale_in_is_read_with_all_it_can_have() -> None:
    spec = {
        "toDelete": {"podNames": ["w-1", "w-2"]},
        "script": "/shrink.sh",
        "timeout": 600,
        "env": [{"name": "A", "value": "1"}, {"name": "B"}],
        "backoffLimit": 3,
    }
    scaler = reading.scaler(IN, view(a_scaler("ScaleIn", spec=spec)))
    assert (scaler.kind, scaler.count, scaler.pod_names) == ("ScaleIn", None, ("w-1", "w-2"))
    assert (scaler.script, scaler.env) == ("/shrink.sh", (("A", "1"), ("B", "")))
    assert (scaler.timeout, scaler.backoff_limit) == (timedelta(minutes=10), 3)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"toAdd": {"count": 0}}, "spec.toAdd.count: Invalid value: 0: must be greater than 0"),
        ({"toAdd": None}, "spec.toAdd"),
        ({"timeout": "long"}, "spec.timeout"),
        ({"selector": "bert"}, "spec.selector"),
    ],
)
def test_of_an_invalid_one_the_errors_are_read(spec: dict[str, Any], words: str) -> None:
    scaler = reading.scaler(OUT, view(a_scaler(spec=spec, status={"phase": "Created"})))
    assert words in scaler.error
    assert (scaler.name, scaler.status.phase) == ("grow", "Created")


@pytest.mark.parametrize("spec", [None, 3, [], "odd"])
def test_a_spec_that_is_no_object_is_an_error(spec: Any) -> None:
    raw = a_scaler() | {"spec": spec}
    assert reading.scaler(OUT, view(raw)).error != ""
    assert reading.selected(view(raw)) == ""


@pytest.mark.parametrize("status", [None, 3, {"conditions": "none"}, {"startSize": "two"}])
def test_a_status_that_cannot_be_read_counts_as_none(status: Any) -> None:
    scaler = reading.scaler(OUT, view(a_scaler(status=status)))
    assert scaler.status.conditions == ()
    assert not reading.has_ended(view(a_scaler(status=status)))


def test_of_a_status_with_parts_that_cannot_be_read_the_others_are() -> None:
    odd = "2026-01-01T00:00:00+24:00"  # an API server accepts it
    conditions = [
        {"type": "Created", "status": "True"},
        {"type": "Scaling", "status": "True", "lastUpdateTime": odd},
        {"type": "ScaleFailed", "status": "True"},
    ]
    status = {"conditions": conditions, "startTime": odd, "startSize": "two", "targetSize": 3}
    found = reading.scaler(OUT, view(a_scaler(status=status))).status
    assert [each.type for each in found.conditions] == ["Created", "ScaleFailed"]
    assert (found.start_time, found.start_size, found.target_size) == (None, None, 3)


def test_of_very_many_conditions_only_those_of_scalers_are_read() -> None:
    others = [{"type": f"Odd{number}", "status": "True"} for number in range(10_000)]
    own = [{"type": type_, "status": "True", "message": "1"} for type_ in ("Scaling", "ScaleFailed", "Created")]
    again = [{"type": "Created", "status": "True", "message": "2"}]
    found = reading.scaler(OUT, view(a_scaler(status={"conditions": own + others + again}))).status.conditions
    assert [(each.type, each.message) for each in found] == [("Created", "1"), ("Scaling", "1"), ("ScaleFailed", "1")]


def test_a_scaler_has_ended_when_its_conditions_say_so() -> None:
    ended = {"conditions": [{"type": "ScaleFailed", "status": "True"}]}
    assert reading.has_ended(view(a_scaler(status=ended)))


def test_one_whose_deletion_was_requested_is_terminating() -> None:
    raw = a_scaler(metadata={"deletionTimestamp": "2026-11-16T09:00:00Z"})
    assert reading.scaler(OUT, view(raw)).terminating


@pytest.mark.parametrize("selector", [None, "bert", {}, {"name": 3}])
def test_a_selector_without_a_name_selects_nothing(selector: Any) -> None:
    assert reading.selected(view(a_scaler(spec={"selector": selector}))) == ""
