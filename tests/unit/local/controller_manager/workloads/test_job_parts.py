# SPDX-License-Identifier: Apache-2.0
"""Indexes, policies, back-off and time to live of batch Jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.controller_manager.workloads.builders import NOW, a_job, a_job_pod, ago

from springtide.kube.resources import Obj
from springtide.local.controller_manager.batch import job_indexes
from springtide.local.controller_manager.batch.job_backoff import Backoff
from springtide.local.controller_manager.batch.job_cleanup import time_left
from springtide.local.controller_manager.batch.job_pods import finished_at
from springtide.local.controller_manager.batch.job_policies import handle_failure, success_met


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set(), ""), ({0}, "0"), ({0, 1}, "0,1"), ({0, 1, 2}, "0-2"), ({1, 3, 4, 5, 7, 8}, "1,3-5,7,8")],
)
def test_indexes_are_written_as_runs(indexes: set[int], text: str) -> None:
    assert job_indexes.render(indexes) == text
    assert job_indexes.parse(text, 100) == indexes


@given(st.frozensets(st.integers(0, 60)), st.integers(0, 60))
def test_indexes_survive_being_written_and_read(indexes: frozenset[int], completions: int) -> None:
    kept = {index for index in indexes if index < completions}
    assert job_indexes.parse(job_indexes.render(indexes), completions) == kept


def test_nonsense_among_indexes_is_ignored() -> None:
    assert job_indexes.parse("x,1,2-y,3-4", 100) == {1, 3, 4}


def exited(code: int, container: str) -> Obj:
    return {"containerStatuses": [{"name": container, "state": {"terminated": {"exitCode": code}}}]}


@pytest.mark.parametrize(
    ("codes", "status", "action"),
    [
        ({"operator": "In", "values": [1, 2]}, exited(2, "c"), "Count"),
        ({"operator": "In", "values": [1, 2]}, exited(3, "c"), ""),
        ({"operator": "NotIn", "values": [1, 2]}, exited(3, "c"), "Count"),
        ({"operator": "NotIn", "values": [1, 2]}, exited(0, "c"), ""),
        ({"operator": "In", "values": [1], "containerName": "other"}, exited(1, "c"), ""),
        ({"operator": "In", "values": [1], "containerName": "c"}, exited(1, "c"), "Count"),
    ],
)
def test_exit_codes_match_rules(codes: Obj, status: Obj, action: str) -> None:
    pod = a_job_pod("a", "Failed", status=status)
    assert handle_failure([{"action": "Count", "onExitCodes": codes}], pod).action == action


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        ({"succeededIndexes": "0-2"}, True),
        ({"succeededIndexes": "0-3"}, False),
        ({"succeededIndexes": "0-9", "succeededCount": 2}, True),
        ({"succeededCount": 3}, True),
        ({"succeededCount": 4}, False),
        ({"succeededIndexes": "50"}, False),
    ],
)
def test_a_success_policy_is_met(rule: Obj, met: bool) -> None:
    expected = "Matched rules at index 0" if met else ""
    assert success_met({"rules": [rule]}, 10, frozenset({0, 1, 2})) == expected


def ended(name: str, seconds_ago: float, phase: str = "Failed") -> Any:
    state = {"terminated": {"exitCode": 1, "finishedAt": ago(seconds_ago)}}
    return a_job_pod(name, phase, status={"containerStatuses": [{"name": "c", "state": state}]})


@pytest.mark.parametrize(("failures", "pause"), [(0, 0), (1, 10), (2, 20), (5, 160), (7, 600), (50, 600)])
def test_pauses_double_up_to_ten_minutes(failures: int, pause: float) -> None:
    assert Backoff(failures, NOW).remaining(NOW) == pause
    assert Backoff(failures, NOW).remaining(NOW + timedelta(seconds=pause)) == 0


def test_a_success_forgives_earlier_failures() -> None:
    record = Backoff(4, NOW)
    assert record.after([ended("s", 30, "Succeeded")], []) == Backoff()
    later = record.after([ended("s", 30, "Succeeded")], [ended("a", 40), ended("b", 20), ended("c", 10)])
    assert later == Backoff(2, NOW - timedelta(seconds=10))
    assert record.after([], []) is record
    assert record.after([], [ended("a", 5)]) == Backoff(5, NOW - timedelta(seconds=5))


def test_when_a_pod_ended_is_known_from_what_there_is() -> None:
    unready = {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ago(7)}]}
    assert finished_at(ended("a", 3)) == NOW - timedelta(seconds=3)
    assert finished_at(a_job_pod("a", "Failed", status=unready)) == NOW - timedelta(seconds=7)
    assert finished_at(a_job_pod("a", deleting=True)) == NOW
    assert finished_at(a_job_pod("a", age=9)) == NOW - timedelta(seconds=9)


def test_a_finished_job_stays_as_long_as_it_may() -> None:
    done = {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": ago(40)}]}
    assert time_left(a_job(done, ttlSecondsAfterFinished=100), NOW) == 60
    assert time_left(a_job(done, ttlSecondsAfterFinished=0), NOW) == -40
    assert time_left(a_job(done), NOW) is None
    assert time_left(a_job(ttlSecondsAfterFinished=0), NOW) is None


def test_a_forged_status_does_not_fill_the_memory() -> None:
    assert len(job_indexes.parse("0-2147483646", 2**31 - 1)) == job_indexes.MOST
