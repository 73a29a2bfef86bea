# SPDX-License-Identifier: Apache-2.0
"""Mistakes that people make with jobs: each is made here as they make it, and what they are then told is gathered.

Rows are known by their numbers in docs/troubleshooting.md, which says for each what is done, what is said, and where.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.e2e.jobs import Job, mpijob, submitted
from tests.programs.world import Cluster, Obj

KUBECTL: Final = "kubectl"
"""What the command itself prints."""
EXPLANATION: Final = ".status.explanation"
LOG: Final = "log"
SLEEP: Final = ["sleep", "600"]
ELASTIC: Final = ["tiderun", "-np", "1", "--min-np", "1", "--max-np", "4", "sleep", "600"]

Said = Mapping[str, str]
"""By place: `kubectl`, `.status.explanation`, `log`, or `event REASON` of the job."""


@dataclass(frozen=True)
class Mistake:
    number: int
    name: str
    make: Callable[[Cluster], Said]


def _job(name: str, launcher: list[str], **more: Any) -> Obj:
    wanted: dict[str, Any] = {"image": "any", "workers": 1} | more
    return mpijob(name, launcher, **wanted)


def _refused(space: Cluster, manifest: Obj) -> Said:
    return {KUBECTL: space.kubectl.refused("create", "-f", "-", stdin=json.dumps(manifest))}


def _waits(job: Job, reason: str) -> Said:
    job.cluster.until(lambda: reason in job.events(), f"an event {reason}")
    return {EXPLANATION: str(job.status["explanation"]), f"event {reason}": "\n".join(job.messages(reason))}


def _fails(job: Job) -> Said:
    failed = job.until("Failed")
    job.cluster.until(lambda: "MPIJobFailed" in job.events(), "an event MPIJobFailed")
    said = {EXPLANATION: str(failed["message"]), "event MPIJobFailed": "\n".join(job.messages("MPIJobFailed"))}
    return said | {LOG: job.logs()}


def image_typo(space: Cluster) -> Said:
    command = ["horovodrun", "-np", "1", "python", "train.py"]
    job = submitted(space, _job("typo", command, image="horovod/horovd:0.28.1"))
    return _waits(job, "ImagePullBackOff")


def no_container(space: Cluster) -> Said:
    return _refused(space, _job("empty", SLEEP, Worker={"template": {"spec": {"containers": []}}}))


def negative_size(space: Cluster) -> Said:
    return _refused(space, _job("negative", SLEEP, workers=-1))


def too_large(space: Cluster) -> Said:
    job = submitted(space, _job("large", ELASTIC))
    space.until(lambda: job.status.get("maxReplicas"), "the operator is there")
    space.until(
        lambda: "springtide" in space.kubectl("get", "validatingwebhookconfigurations"), "and so is its webhook"
    )
    return {KUBECTL: space.kubectl.refused("scale", "mpijob", job.name, "--replicas=9")}


def field_typo(space: Cluster) -> Said:
    return _refused(space, _job("field", SLEEP, slotPerWorker=2))


def wrong_version(space: Cluster) -> Said:
    return _refused(space, _job("version", SLEEP, version="kubeflow.org/v2"))


def missing_file(space: Cluster) -> Said:
    return _fails(submitted(space, _job("missing", ["python", "/train.py"])))


def exit_code(space: Cluster) -> Said:
    return _fails(submitted(space, _job("exits", ["sh", "-c", "echo no data in /data; exit 1"])))


def syntax_error(space: Cluster) -> Said:
    return _fails(submitted(space, _job("syntax", ["python", "-c", "print('step 1'"])))


def too_many_gpus(space: Cluster) -> Said:
    container = {"name": "mpi", "image": "any", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    worker = {"template": {"spec": {"containers": [container]}}}
    return _waits(submitted(space, _job("gpus", SLEEP, Worker=worker)), "Unschedulable")


def no_mpirun(space: Cluster) -> Said:
    job = submitted(space, _job("mpi", ["mpirun", "-np", "1", "hostname"], image="example.com/me/train:1.0"))
    return _waits(job, "ImagePullBackOff")


def _torch(name: str, role: str = "Worker", container: str = "pytorch") -> Obj:
    """A PyTorchJob whose workers do not run torchrun; its master, or what is written in its place, sleeps as well."""
    template = {"spec": {"containers": [{"name": container, "image": "any", "command": SLEEP}]}}
    roles = {each: {"template": template} for each in (role, "Worker")}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": roles},
    }


def role_typo(space: Cluster) -> Said:
    return _refused(space, _torch("role", role="Mater"))


def wrong_container(space: Cluster) -> Said:
    return _refused(space, _torch("container", container="main"))


def not_elastic(space: Cluster) -> Said:
    space.kubectl("create", "-f", "-", stdin=json.dumps(_torch("fixed", role="Master")))
    space.kubectl("wait", "pytorchjob/fixed", "--for=condition=Running", "--timeout=60s")
    space.until(
        lambda: "springtide" in space.kubectl("get", "validatingwebhookconfigurations"),
        "the operator's webhook is there",
    )
    return {KUBECTL: space.kubectl.refused("scale", "pytorchjob", "fixed", "--replicas=3")}


_OF_JOBS: Final = tuple(
    Mistake(number, make.__name__, make)
    for number, make in enumerate(
        (
            image_typo,
            no_container,
            negative_size,
            too_large,
            field_typo,
            wrong_version,
            missing_file,
            exit_code,
            syntax_error,
            too_many_gpus,
            no_mpirun,
        ),
        start=1,
    )
)
"""Those about `tide` itself, 12 to 14, are made by tests/docs/test_refused_commands.py."""
MISTAKES: Final = (
    *_OF_JOBS,
    *(
        Mistake(number, make.__name__, make)
        for number, make in enumerate((role_typo, wrong_container, not_elastic), start=15)
    ),
)
