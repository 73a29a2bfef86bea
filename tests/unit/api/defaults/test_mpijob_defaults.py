# SPDX-License-Identifier: Apache-2.0
"""What an MPIJob means where it says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import documents
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.defaults.mpijob import MPI, defaulted
from springtide.api.job import Job, Retries, Role, Run
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.mpi_modes import MODES, LauncherForm
from springtide.api.kinds.mpijob import Implementation, LauncherCreation
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy, SchedulingPolicy

NEVER, ON_FAILURE = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE


def roles(job: Job[MPI]) -> list[tuple[str, int, RestartPolicy]]:
    return [(role.name, role.replicas, role.restart_policy) for role in job.roles.values()]


def test_a_bare_job_of_v1() -> None:
    job = defaulted(an_mpijob(workers=3))
    assert (job.api_version, job.kind, job.metadata.name, job.metadata.uid) == (
        "kubeflow.org/v1",
        "MPIJob",
        "pi",
        "u-1",
    )
    assert roles(job) == [("Worker", 3, NEVER), ("Launcher", 1, NEVER)]
    assert job.run == Run(CleanPodPolicy.NONE, Retries(0))
    assert job.elastic is None
    assert job.own == MPI(
        mode=MODES[AttachMode.KUBEXEC],
        slots_per_worker=1,
        main_container="",
        launcher_is_host=False,
        launcher_creation=LauncherCreation.AT_STARTUP,
        implementation=Implementation.OPEN_MPI,
        ssh_auth_mount_path="/root/.ssh",
    )
    assert job.own.mode.launcher_form is LauncherForm.POD


def test_a_bare_job_of_v2beta1() -> None:
    job = defaulted(an_mpijob("v2beta1", launcher={"replicas": None}))
    assert roles(job) == [("Worker", 2, NEVER), ("Launcher", 1, ON_FAILURE)]
    assert job.run == Run(CleanPodPolicy.NONE, Retries(by_engine=0, by_launcher=None))
    assert job.own.mode is MODES[AttachMode.SSH]
    assert job.own.mode.launcher_form is LauncherForm.BATCH_JOB


def test_what_is_said_stands() -> None:
    job = defaulted(
        an_mpijob(
            "v2beta1",
            launcher={"restartPolicy": "Never"},
            worker={"restartPolicy": "OnFailure"},
            slotsPerWorker=4,
            mainContainer="main",
            runLauncherAsWorker=True,
            launcherCreationPolicy="WaitForWorkersReady",
            mpiImplementation="Intel",
            sshAuthMountPath="/home/mpiuser/.ssh",
            elasticPolicy={"minReplicas": 1, "maxReplicas": 4},
            runPolicy={
                "cleanPodPolicy": "All",
                "suspend": True,
                "ttlSecondsAfterFinished": 60,
                "activeDeadlineSeconds": 3600,
                "backoffLimit": 2,
                "managedBy": "kubeflow.org/mpi-operator",
                "schedulingPolicy": {"minAvailable": 2, "queue": "q"},
            },
        )
    )
    assert roles(job) == [("Worker", 2, ON_FAILURE), ("Launcher", 1, NEVER)]
    assert job.run == Run(
        clean_pod_policy=CleanPodPolicy.ALL,
        retries=Retries(by_engine=0, by_launcher=2),
        suspend=True,
        ttl_seconds_after_finished=60,
        active_deadline_seconds=3600,
        scheduling=SchedulingPolicy(min_available=2, queue="q"),
    )
    assert job.elastic == ElasticPolicy(min_replicas=1, max_replicas=4)
    assert job.own == MPI(
        mode=MODES[AttachMode.SSH],
        slots_per_worker=4,
        main_container="main",
        launcher_is_host=True,
        launcher_creation=LauncherCreation.WAIT_FOR_WORKERS_READY,
        implementation=Implementation.INTEL,
        ssh_auth_mount_path="/home/mpiuser/.ssh",
    )


def test_a_template_stays_as_it_was_written() -> None:
    template = a_template("pi", aFutureField=[1])
    assert defaulted(an_mpijob(worker={"template": template})).roles["Worker"] == Role("Worker", 2, NEVER, template)


def test_a_job_without_workers_has_its_launcher() -> None:
    raw = an_mpijob()
    del raw["spec"]["mpiReplicaSpecs"]["Worker"]
    assert roles(defaulted(raw)) == [("Launcher", 1, NEVER)]


@pytest.mark.parametrize(
    ("within", "above", "found"),
    [
        (None, None, "None"),
        (None, "Running", "Running"),
        ("All", None, "All"),
        ("All", "Running", "All"),
        ("None", "All", "None"),
    ],
)
def test_the_clean_pod_policy_of_the_run_policy_stands_above_the_other(
    within: str | None, above: str | None, found: str
) -> None:
    policy = {"cleanPodPolicy": within} if within else None
    assert defaulted(an_mpijob(runPolicy=policy, cleanPodPolicy=above)).run.clean_pod_policy == found


@pytest.mark.parametrize(
    ("restart", "limit", "times"),
    [
        (None, None, 0),
        ("Never", None, 0),
        ("ExitCode", None, 0),
        ("OnFailure", None, 6),
        ("Always", None, 6),
        ("Never", 3, 3),
        ("OnFailure", 0, 0),
    ],
)
def test_a_launcher_that_is_a_pod_is_tried_again_by_the_engine(
    restart: str | None, limit: int | None, times: int
) -> None:
    policy = None if limit is None else {"backoffLimit": limit}
    job = defaulted(an_mpijob(launcher={"restartPolicy": restart}, runPolicy=policy))
    assert job.run.retries == Retries(times)


@pytest.mark.parametrize(
    ("resource", "host"),
    [("nvidia.com/gpu", True), ("nvidia.com/gpumem", True), ("nvidia.com/vgpu", True), ("cpu", False)],
)
def test_a_launcher_that_asks_for_a_gpu_is_taken_for_a_worker_in_v1_alone(resource: str, host: bool) -> None:
    launcher = {"template": a_template("mpirun", resources={"limits": {resource: 1}})}
    assert defaulted(an_mpijob(launcher=launcher)).own.launcher_is_host is host
    assert defaulted(an_mpijob("v2beta1", launcher=launcher)).own.launcher_is_host is False


@pytest.mark.parametrize(
    ("version", "marker", "mode"),
    [("v1", None, "kubexec"), ("v2beta1", None, "ssh"), ("v1", "ssh", "ssh"), ("v2beta1", "kubexec", "kubexec")],
)
def test_the_marker_says_how_a_job_was_submitted_not_the_version_it_is_read_by(
    version: str, marker: str | None, mode: str
) -> None:
    assert defaulted(an_mpijob(version, launcherAttachMode=marker)).own.mode.attach == mode


def test_a_job_reads_the_same_by_either_version() -> None:
    first, second = (defaulted(an_mpijob(version, launcherAttachMode="ssh")) for version in ("v1", "v2beta1"))
    assert (first.roles, first.run, first.own) == (second.roles, second.run, second.own)


@pytest.mark.parametrize(
    "raw",
    [
        an_mpijob(launcherAttachMode="rsh"),
        an_mpijob(mpiReplicaSpecs=None),
        an_mpijob(mpiReplicaSpecs={}),
        an_mpijob(cleanPodPolicy="Some"),
    ],
)
def test_what_is_not_valid_is_not_given_a_meaning(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"validate it first|is not a valid"):
        defaulted(raw)


@pytest.mark.parametrize("path", documents.MPIJOBS, ids=lambda path: path.stem)
def test_the_documents_jobs_have_two_workers_and_lose_their_running_pods(path: Path) -> None:
    job = defaulted(yaml.safe_load(path.read_text()))
    assert roles(job) == [("Worker", 2, NEVER), ("Launcher", 1, NEVER)]
    assert job.run.clean_pod_policy is CleanPodPolicy.RUNNING
