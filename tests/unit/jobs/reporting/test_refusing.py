# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.simulated import START, Cluster

from springtide.api.kinds.status import JobStatus
from springtide.api.validation import mpijob
from springtide.jobs.actions import Event, StatusPatch
from springtide.jobs.reporting.refusing import refused

ERRORS = mpijob.errors(an_mpijob("v2beta1", workers=0))


def test_mistakes_are_told_by_an_event_and_a_condition() -> None:
    plan = refused(JobStatus(), ERRORS, START)
    patch, event = plan.actions
    assert isinstance(event, Event)
    assert isinstance(patch, StatusPatch)
    assert (event.type, event.reason) == ("Warning", "ValidationError")
    assert event.message.startswith("Found validation errors: spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 0")
    assert patch.status.conditions[0].message == event.message


def test_the_same_mistakes_are_not_told_twice() -> None:
    first = refused(JobStatus(), ERRORS, START)
    assert refused(first.status, ERRORS, START).actions == ()
    assert refused(first.status, [*ERRORS, *ERRORS], START).actions


def test_a_mended_job_is_invalid_no_more() -> None:
    cluster = Cluster(an_mpijob(), status=refused(JobStatus(), ERRORS, START).status)
    cluster.settle()
    assert cluster.conditions == {"Invalid": "False", "Created": "True", "Running": "True"}
