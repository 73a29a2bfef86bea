# SPDX-License-Identifier: Apache-2.0
"""Scalers that wait for a job which does not exist."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.scalers import ScalerStatus
from springtide.jobs.scaling import orphans
from springtide.jobs.scaling.orphans import PATIENCE, SETTLED, OrphanPlan, Reference
from springtide.jobs.scaling.scaler import Scaler

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
JOB = Reference("TrainingJob", "bert")
GONE = "TrainingJob bert has been deleted"


def a_scaler(age: timedelta = timedelta(minutes=1), **fields: Any) -> Scaler:
    return Scaler("ScaleOut", "grow", "u-grow", created=NOW - age, count=1, **fields)


def planned(scaler: Scaler, owner: Reference | None = None) -> OrphanPlan:
    return orphans.plan(scaler, JOB, owner, NOW)


def told(plan: OrphanPlan) -> list[tuple[str, str, str]]:
    assert plan.status is not None
    return [(each.type, each.reason, each.message) for each in plan.status.conditions]


def test_it_says_once_that_it_waits() -> None:
    first = planned(a_scaler())
    message = (
        "ScaleOut grow waits for TrainingJob bert, which does not exist; it fails at 08:09:00 UTC unless the job is "
        "created"
    )
    assert told(first) == [("Created", "ScalerCreated", message)]
    assert (first.status and first.status.phase, first.failure) == ("Created", "")
    assert first.again == PATIENCE - timedelta(minutes=1)
    again = orphans.plan(a_scaler(status=first.status), JOB, None, NOW + timedelta(minutes=1))
    assert (again.status, again.again) == (first.status, PATIENCE - timedelta(minutes=2))


def test_of_a_job_that_was_just_created_the_cache_may_not_know_yet() -> None:
    assert planned(a_scaler(timedelta(seconds=0.5))) == OrphanPlan(again=SETTLED - timedelta(seconds=0.5))


def test_what_it_has_waited_for_before_is_replaced() -> None:
    other = Condition(type="Created", status="True", reason="ScalerCreated", message="waits for ScaleIn shrink")
    plan = planned(a_scaler(status=ScalerStatus(phase="Created", conditions=(other,))))
    assert "does not exist" in told(plan)[0][2]


@pytest.mark.parametrize(
    ("timeout", "age", "words"),
    [(60, 600, "10 minutes"), (3600, 3600, "60 minutes")],
)
def test_it_fails_when_its_job_does_not_appear(timeout: int, age: int, words: str) -> None:
    plan = planned(a_scaler(timedelta(seconds=age), timeout=timedelta(seconds=timeout)))
    why = f"TrainingJob bert was not created within {words}; create the job, and then another ScaleOut"
    assert plan.failure == why
    assert told(plan)[-1] == ("ScaleFailed", "ScalingOutFailed", why)
    assert plan.status is not None
    assert (plan.status.phase, plan.status.completion_time, plan.status.restart_count) == ("ScaleFailed", NOW, 0)
    earlier = planned(a_scaler(timedelta(seconds=age - 1), timeout=timedelta(seconds=timeout)))
    assert (earlier.failure, earlier.again) == ("", timedelta(seconds=1))


def test_it_fails_at_once_when_the_job_that_it_belongs_to_is_gone() -> None:
    plan = planned(a_scaler(timedelta(0)), owner=JOB)
    assert [each[0] for each in told(plan)] == ["Created", "ScaleFailed"]
    assert plan.failure == GONE


def test_one_in_progress_fails_also_without_an_owner() -> None:
    """Its job was deleted with --cascade=orphan."""
    conditions = tuple(Condition(type=each, status="True") for each in ("Created", "Scaling"))
    plan = planned(a_scaler(status=ScalerStatus(phase="Scaling", conditions=conditions, start_size=1, target_size=2)))
    assert plan.failure == GONE
    assert told(plan)[-1][0] == "ScaleFailed"


def test_one_with_another_controller_fails_and_says_which() -> None:
    plan = planned(a_scaler(), owner=Reference("Deployment", "web"))
    assert plan.failure == (
        "ScaleOut grow is controlled by Deployment web, so that TrainingJob bert cannot be its owner; create the "
        "ScaleOut without ownerReferences"
    )


def test_an_invalid_one_fails_with_its_errors() -> None:
    assert planned(a_scaler(error="Found validation errors: ...")).failure == "Found validation errors: ..."


@pytest.mark.parametrize("phase", ["ScaleSucceeded", "ScaleFailed"])
def test_one_that_has_ended_stays_as_it_is(phase: str) -> None:
    ended = ScalerStatus(phase=phase, conditions=(Condition(type=phase, status="True"),))
    assert planned(a_scaler(timedelta(days=1), status=ended), owner=JOB) == OrphanPlan()


def test_one_that_is_being_deleted_is_left_alone() -> None:
    assert planned(a_scaler(timedelta(days=1), terminating=True)) == OrphanPlan()
