# SPDX-License-Identifier: Apache-2.0
"""What a TrainingJob means where it says nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests import arena
from tests.unit.api.builders import a_template, a_trainingjob

from springtide.api.bounds import Bounds
from springtide.api.defaults.trainingjob import ET, bounds_of, defaulted
from springtide.api.job import Job, Retries, Run
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.api.kinds.trainingjob import TrainingJobStatus

NEVER = RestartPolicy.NEVER
WAIT = "job-supervisor.kube-ai.io/max-wait-time"
BARE = ET(AttachMode.SSH, 1, None, NEVER, ssh_secret=None, max_wait=None, start_size_min=False)


def roles(job: Job[ET]) -> list[tuple[str, int, RestartPolicy]]:
    return [(role.name, role.replicas, role.restart_policy) for role in job.roles.values()]


def of_workers(limits: Any) -> Job[ET]:
    return defaulted(a_trainingjob(worker={"template": a_template(resources={"limits": limits})}))


def test_a_bare_job() -> None:
    job = defaulted(a_trainingjob(workers=None))
    assert (job.kind, job.api_version, job.metadata.uid) == ("TrainingJob", "kai.alibabacloud.com/v1alpha1", "u-1")
    assert roles(job) == [("Worker", 1, NEVER), ("Launcher", 1, NEVER)]
    assert job.run == Run(CleanPodPolicy.RUNNING, Retries(0))
    assert job.elastic == ElasticPolicy(min_replicas=1, max_replicas=None)
    assert job.own == BARE
    assert job.status == TrainingJobStatus()


def test_a_job_that_says_all() -> None:
    annotations = {
        WAIT: "600",
        "springtide.dev/start-size": "min",
        "arena.kubeflow.org/ssh-secret": "keys",
        "job-supervisor.kube-ai.io/job-suspended": "true",
    }
    job = defaulted(
        a_trainingjob(
            annotations=annotations,
            launcher={"restartPolicy": "Always"},
            worker={"restartPolicy": "ExitCode", "minReplicas": 2, "maxReplicas": 9},
            cleanPodPolicy="None",
            launcherAttachMode="kubexec",
            slotsPerWorker=4,
            restartPolicy="OnFailure",
            backoffLimit=2,
        )
    )
    assert roles(job) == [("Worker", 2, RestartPolicy.EXIT_CODE), ("Launcher", 1, RestartPolicy.ALWAYS)]
    assert job.run == Run(CleanPodPolicy.NONE, Retries(2), suspend=True)
    assert bounds_of(job) == Bounds(2, 9, "spec.etReplicaSpecs.worker")
    assert job.own == ET(
        AttachMode.KUBEXEC,
        4,
        RestartPolicy.ALWAYS,
        RestartPolicy.EXIT_CODE,
        ssh_secret="keys",
        max_wait=timedelta(minutes=10),
        start_size_min=True,
    )


def test_what_arena_renders() -> None:
    _, raw = arena.etjob()
    job = defaulted(raw)
    assert roles(job) == [("Worker", 3, NEVER), ("Launcher", 1, NEVER)]
    assert bounds_of(job) == Bounds(1, 9, "spec.etReplicaSpecs.worker")
    assert job.own == BARE


@pytest.mark.parametrize(
    ("spec", "retries"),
    [
        ({}, 0),
        ({"backoffLimit": 3}, 0),
        ({"restartPolicy": "Never", "backoffLimit": 3}, 0),
        ({"restartPolicy": "OnFailure"}, 6),
        ({"restartPolicy": "OnFailure", "backoffLimit": 0}, 0),
    ],
)
def test_a_job_is_started_again_only_on_failure(spec: dict[str, Any], retries: int) -> None:
    assert defaulted(a_trainingjob(**spec)).run.retries == Retries(retries)


@pytest.mark.parametrize(
    ("annotation", "value", "suspended"),
    [
        ("job-supervisor.kube-ai.io/job-suspended", "true", True),
        ("scheduling.x-k8s.io/suspend", "true", True),
        ("job-supervisor.kube-ai.io/job-suspended", "false", False),
        ("example.com/suspend", "true", False),
    ],
)
def test_annotations_suspend_a_job(annotation: str, value: str, suspended: bool) -> None:
    assert defaulted(a_trainingjob(annotations={annotation: value})).run.suspend is suspended


@pytest.mark.parametrize(
    ("limits", "slots"),
    [({"nvidia.com/gpu": 8}, 8), ({"nvidia.com/gpu": "2"}, 2), ({"nvidia.com/gpu": "0"}, 1), ({"cpu": 4}, 1), ({}, 1)],
)
def test_a_worker_has_as_many_slots_as_gpus(limits: dict[str, Any], slots: int) -> None:
    assert of_workers(limits).own.slots_per_worker == slots


@pytest.mark.parametrize(("given", "wait"), [("0", None), ("", None), ("5m", None), ("9" * 30, None), ("5", 5)])
def test_a_wait_without_limit_is_none(given: str, wait: int | None) -> None:
    expected = None if wait is None else timedelta(seconds=wait)
    assert defaulted(a_trainingjob(annotations={WAIT: given})).own.max_wait == expected


def test_an_invalid_job_has_no_defaults() -> None:
    with pytest.raises(ValueError, match="ns/bert is no valid TrainingJob"):
        defaulted(a_trainingjob(etReplicaSpecs=None))
