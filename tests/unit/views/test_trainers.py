# SPDX-License-Identifier: Apache-2.0
"""Arena's names for kinds of jobs, and which pods are a job's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.views.builders import a_job, a_pod, a_role

from springtide.api.kinds.registry import RESOURCES
from springtide.views import trainers
from springtide.views.trainers import Trainer


def test_every_kind_that_the_operator_serves_has_a_trainer() -> None:
    served = {(each.group, each.kind, each.plural, tuple(v.name for v in each.versions)) for each in RESOURCES}
    known = {(each.group, each.kind, each.plural, each.versions) for each in trainers.RESOURCES}
    assert known == served


@pytest.mark.parametrize(
    ("word", "trainer"),
    [
        *((word, trainers.ETJOB) for word in ("etjob", "ElasticTraining", "et", "ET", "ETJob")),
        *((word, trainers.MPIJOB) for word in ("mpijob", "MPI", "mpi")),
        *((word, trainers.TFJOB) for word in ("tfjob", "tensorflow", "tf")),
        *((word, trainers.PYTORCHJOB) for word in ("pytorchjob", "Pytorch", "py")),
        *((word, trainers.DEEPSPEEDJOB) for word in ("deepspeedjob", "deepspeed", "dp")),
        *((word, None) for word in ("", "sparkjob", "torch", "job")),
    ],
)
def test_a_trainer_is_found_by_name_alias_or_short_form(word: str, trainer: Trainer | None) -> None:
    assert trainers.by_word(word) is trainer


@pytest.mark.parametrize(
    ("kind", "labels", "trainer"),
    [
        ("TrainingJob", {}, trainers.ETJOB),
        ("TrainingJob", {"app": "etjob"}, trainers.ETJOB),
        ("TrainingJob", {"app": "bert"}, trainers.ETJOB),
        ("TrainingJob", {"app": "deepspeedjob"}, trainers.DEEPSPEEDJOB),
        ("MPIJob", {"app": "deepspeedjob"}, trainers.MPIJOB),
        ("TFJob", {}, trainers.TFJOB),
        ("PyTorchJob", {}, trainers.PYTORCHJOB),
    ],
)
def test_jobs_have_a_trainer_whoever_made_them(kind: str, labels: dict[str, str], trainer: Trainer) -> None:
    assert trainers.of_job(a_job(kind, labels=labels)) is trainer


def of_job_named(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    job = a_job(kind)
    return job, a_pod(job, "worker", 0)


@pytest.mark.parametrize("kind", ["TrainingJob", "MPIJob", "TFJob", "PyTorchJob"])
def test_a_job_owns_the_pods_that_it_controls(kind: str) -> None:
    job, pod = of_job_named(kind)
    assert trainers.owns(job, pod)
    assert trainers.job_names(pod) == {"bert"}
    assert trainers.of_job(job).pods_selector("bert") in [
        f"{name}={value}" for name, value in trainers.labels(pod).items()
    ]


def test_a_pod_of_another_job_is_not_the_jobs() -> None:
    job, pod = of_job_named("TFJob")
    assert not trainers.owns(a_job("PyTorchJob") | {"metadata": {**job["metadata"], "uid": "another"}}, pod)
    assert not trainers.owns(a_job("TFJob", name="gpt"), pod)
    pod["metadata"]["namespace"] = "elsewhere"
    assert not trainers.owns(job, pod)


def test_a_pod_without_a_controller_is_no_jobs_whatever_its_labels_claim() -> None:
    job, pod = of_job_named("MPIJob")
    pod["metadata"]["ownerReferences"] = []
    assert not trainers.owns(job, pod)


@pytest.mark.parametrize("labelled", ["springtide.dev/kind", "training.kubeflow.org/operator-name"])
def test_the_pod_of_a_launchers_batch_job_is_the_jobs(labelled: str) -> None:
    job = a_job("MPIJob")
    value = "MPIJob" if "kind" in labelled else "mpi-operator"
    pod = a_pod(job, "launcher", labels={"training.kubeflow.org/job-name": "bert", labelled: value})
    pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "bert-launcher", "uid": "x", "controller": True}]
    assert trainers.owns(job, pod)
    assert not trainers.owns(a_job("PyTorchJob"), pod)
    assert not trainers.owns(a_job("MPIJob", name="gpt"), pod)


@pytest.mark.parametrize(
    ("labels", "role", "index"),
    [
        pytest.param({"springtide.dev/role": "Worker", "springtide.dev/index": "3"}, "worker", 3, id="ours"),
        pytest.param({"training-job-role": "launcher"}, "launcher", 0, id="et-operator"),
        pytest.param({"mpi_role_type": "worker", "replica-index": "1"}, "worker", 1, id="mpi-operator before"),
        pytest.param({"training.kubeflow.org/job-role": "launcher"}, "launcher", 0, id="mpi-operator"),
        pytest.param(
            {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "2"},
            "worker",
            2,
            id="training-operator",
        ),
        pytest.param(
            {"training.kubeflow.org/replica-type": "chief", "training.kubeflow.org/job-role": "master"},
            "chief",
            0,
            id="a chief is no master",
        ),
        pytest.param({"tf-replica-type": "ps", "tf-replica-index": "1"}, "ps", 1, id="tf-operator"),
        pytest.param({"replica-index": "many"}, "", 0, id="nonsense"),
        pytest.param({}, "", 0, id="none"),
    ],
)
def test_role_and_index_are_read_from_the_labels_of_any_operator(labels: dict[str, str], role: str, index: int) -> None:
    pod = a_pod(a_job(), "worker", labels=labels)
    assert (trainers.role(pod), trainers.index(pod)) == (role, index)


def roles(*names: str) -> dict[str, Any]:
    return {name: a_role() for name in names}


@pytest.mark.parametrize(
    ("kind", "given", "chief"),
    [
        ("TrainingJob", ("launcher", "worker"), "bert-launcher"),
        ("MPIJob", ("Launcher", "Worker"), "bert-launcher"),
        ("PyTorchJob", ("Master", "Worker"), "bert-master-0"),
        ("PyTorchJob", ("Worker",), "bert-worker-0"),
        ("TFJob", ("PS", "Chief", "Worker"), "bert-chief-0"),
        ("TFJob", ("PS", "Master", "Worker"), "bert-master-0"),
        ("TFJob", ("PS", "Worker"), "bert-worker-0"),
        ("TFJob", ("PS",), None),
    ],
)
def test_the_chief_is_the_pod_whose_log_is_looked_at_first(
    kind: str, given: tuple[str, ...], chief: str | None
) -> None:
    job = a_job(kind, roles(*given))
    pods = [
        pod
        for name in map(str.lower, given)
        for pod in ([a_pod(job, name)] if name == "launcher" else [a_pod(job, name, 1), a_pod(job, name, 0)])
        if name in ("launcher", "worker", "ps") or pod["metadata"]["name"].endswith("-0")
    ]
    found = trainers.chief(job, pods)
    assert (found["metadata"]["name"] if found else None) == chief


def test_of_several_chiefs_the_newest_counts_that_is_not_pending() -> None:
    job = a_job()
    old, new = a_pod(job, "launcher", created=10, phase="Failed"), a_pod(job, "launcher", created=20)
    pending = a_pod(job, "launcher", created=30, phase="Pending")
    assert trainers.chief(job, [old, new, pending]) is new
    assert trainers.chief(job, [old, pending]) is old
    assert trainers.chief(job, [pending]) is pending
    assert trainers.chief(job, []) is None
