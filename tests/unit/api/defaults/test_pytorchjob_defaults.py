# SPDX-License-Identifier: Apache-2.0
"""What a PyTorchJob means where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_pytorchjob

from springtide.api.defaults.pytorchjob import Torch, defaulted
from springtide.api.job import Job, Retries, Run
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy

ON_FAILURE = RestartPolicy.ON_FAILURE


def roles(job: Job[Torch]) -> list[tuple[str, int, RestartPolicy]]:
    return [(role.name, role.replicas, role.restart_policy) for role in job.roles.values()]


def test_a_bare_job() -> None:
    job = defaulted(a_pytorchjob({"Worker": 2, "Master": 1}))
    assert (job.kind, job.metadata.name, job.metadata.uid) == ("PyTorchJob", "mnist", "u-1")
    assert roles(job) == [("Master", 1, ON_FAILURE), ("Worker", 2, ON_FAILURE)]
    assert job.run == Run(CleanPodPolicy.NONE, Retries(6))
    assert job.elastic is None
    assert job.own == Torch(processes="auto", policy=None)


def test_roles_are_known_in_any_case() -> None:
    raw = a_pytorchjob({"worker": 2, "MASTER": 1})
    del raw["spec"]["pytorchReplicaSpecs"]["MASTER"]["replicas"]
    assert roles(defaulted(raw)) == [("Master", 1, ON_FAILURE), ("Worker", 2, ON_FAILURE)]


def test_limits_beside_the_run_policy_count() -> None:
    job = defaulted(a_pytorchjob({"Worker": 2}, cleanPodPolicy="All", backoffLimit=1, runPolicy={"backoffLimit": 2}))
    assert job.run == Run(CleanPodPolicy.ALL, Retries(2))


@pytest.mark.parametrize(
    ("policy", "bounds"),
    [
        ({}, (3, 3)),
        ({"minReplicas": 2}, (2, 2)),
        ({"maxReplicas": 4}, (4, 4)),
        ({"minReplicas": 1, "maxReplicas": 4}, (1, 4)),
    ],
)
def test_a_missing_bound_is_the_other_one_and_without_both_the_size_is(
    policy: dict[str, int], bounds: tuple[int, int]
) -> None:
    assert defaulted(a_pytorchjob({"Worker": 3}, elasticPolicy=policy)).elastic == ElasticPolicy(
        min_replicas=bounds[0], max_replicas=bounds[1]
    )


@pytest.mark.parametrize(
    ("spec", "processes"),
    [
        ({}, "auto"),
        ({"nprocPerNode": "4"}, "4"),
        ({"elasticPolicy": {"minReplicas": 1}}, "auto"),
        ({"elasticPolicy": {"nProcPerNode": 2}}, ""),
    ],
)
def test_processes_per_node_are_auto_unless_either_field_is_set(spec: dict[str, Any], processes: str) -> None:
    assert defaulted(a_pytorchjob({"Worker": 3}, **spec)).own.processes == processes
