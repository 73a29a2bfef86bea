# SPDX-License-Identifier: Apache-2.0
"""What a TFJob means where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_tfjob

from springtide.api.defaults.tfjob import TF, defaulted
from springtide.api.job import Job, Retries, Run
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy, SchedulingPolicy

NEVER, ON_FAILURE = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE


def roles(job: Job[TF]) -> list[tuple[str, int, RestartPolicy]]:
    return [(role.name, role.replicas, role.restart_policy) for role in job.roles.values()]


def test_a_bare_job() -> None:
    job = defaulted(a_tfjob({"Worker": 2}))
    assert (job.kind, job.metadata.name, job.metadata.uid) == ("TFJob", "mnist", "u-1")
    assert roles(job) == [("Worker", 2, NEVER)]
    assert job.run == Run(CleanPodPolicy.NONE, Retries(6))
    assert job.elastic is None
    assert job.own == TF(all_workers=False)


def test_what_is_written_stands() -> None:
    policy = {"suspend": True, "backoffLimit": 0, "schedulingPolicy": {"minAvailable": 2, "queue": "q"}}
    spec: dict[str, Any] = {"successPolicy": "AllWorkers", "enableDynamicWorker": True, "runPolicy": policy}
    job = defaulted(a_tfjob({"Worker": 2}, restart="OnFailure", **spec))
    assert roles(job) == [("Worker", 2, ON_FAILURE)]
    assert job.run == Run(
        CleanPodPolicy.NONE, Retries(0), suspend=True, scheduling=SchedulingPolicy(min_available=2, queue="q")
    )
    assert job.elastic == ElasticPolicy()
    assert job.own == TF(all_workers=True)


def test_roles_are_known_in_any_case_and_come_in_order_of_creation() -> None:
    job = defaulted(a_tfjob({"worker": 2, "EVALUATOR": 1, "Ps": 3, "chief": 1}))
    assert [name for name, _, _ in roles(job)] == ["Chief", "PS", "Evaluator", "Worker"]
    assert job.roles["PS"].replicas == 3


def test_a_role_without_a_number_has_one_replica() -> None:
    raw = a_tfjob({"Worker": 2})
    del raw["spec"]["tfReplicaSpecs"]["Worker"]["replicas"]
    assert roles(defaulted(raw)) == [("Worker", 1, NEVER)]


@pytest.mark.parametrize("policy", ["", None])
def test_an_empty_success_policy_is_the_default_one(policy: str | None) -> None:
    assert defaulted(a_tfjob({"Worker": 2}, successPolicy=policy)).own == TF(all_workers=False)


@pytest.mark.parametrize(
    ("field", "within", "beside", "found"),
    [
        ("cleanPodPolicy", None, "Running", CleanPodPolicy.RUNNING),
        ("cleanPodPolicy", "All", "Running", CleanPodPolicy.ALL),
        ("ttlSecondsAfterFinished", None, 60, 60),
        ("ttlSecondsAfterFinished", 0, 60, 0),
        ("activeDeadlineSeconds", None, 60, 60),
        ("activeDeadlineSeconds", 30, 60, 30),
        ("backoffLimit", None, 1, Retries(1)),
        ("backoffLimit", 0, 1, Retries(0)),
        ("schedulingPolicy", None, {"queue": "q"}, SchedulingPolicy(queue="q")),
    ],
)
def test_limits_count_in_spec_too_but_those_of_the_run_policy_have_precedence(
    field: str, within: Any, beside: Any, found: Any
) -> None:
    inner = {} if within is None else {field: within}
    run = defaulted(a_tfjob({"Worker": 1}, runPolicy=inner, **{field: beside})).run
    assert found in (run.clean_pod_policy, run.ttl_seconds_after_finished, run.active_deadline_seconds) or found in (
        run.retries,
        run.scheduling,
    )
