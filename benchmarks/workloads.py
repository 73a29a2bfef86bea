# SPDX-License-Identifier: Apache-2.0
"""The jobs that operators are measured with, one workload per kind and version: how a job is written, and what is made
for it.

MPIJob      a launcher and two workers. A launcher is a batch Job for v2beta1, whose pod is made by whoever serves batch
            Jobs, and a pod for v1
PyTorchJob  a master and two workers with an elastic policy; each replica has a pod and a Service
TFJob       a chief and two workers; the same
TrainingJob two workers over SSH, pods with a Service each; the launcher comes only when they are ready
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from springtide.kube.resources import JOBS, PODS, SERVICES, Obj, Resource

NAMESPACE = "bench"
WORKERS = 2

Made = tuple[Resource, str]
"""An object that is waited for: its resource and its name."""


@dataclass(frozen=True)
class Workload:
    resource: Resource
    spec: Callable[[], Obj]
    roles: str
    """Where the roles are in the spec."""
    made: Callable[[str], Iterator[Made]]
    """What is made for a job of this name."""
    added: Callable[[str], Iterator[Made]]
    """What is made for one more worker of it."""
    told: bool = False
    """Whether a job counts only when its status is written."""
    resized: bool = True
    """Whether changes of its replicas are measured."""
    workers: str = "Worker"
    """The role that is resized."""

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def follows(self) -> tuple[Resource, ...]:
        """The resources of what is made."""
        return tuple(dict.fromkeys(resource for resource, _ in (*self.made("any"), *self.added("any"))))

    def job(self, name: str) -> Obj:
        metadata = {"name": name, "namespace": NAMESPACE}
        what = {"apiVersion": self.resource.api_version, "kind": self.kind}
        return {**what, "metadata": metadata, "spec": self.spec()}

    def larger(self) -> Obj:
        """The change to one more worker."""
        return {"spec": {self.roles: {self.workers: {"replicas": WORKERS + 1}}}}


def mpijobs(version: str = "v2beta1") -> Workload:
    resource = Resource("kubeflow.org", version, "mpijobs", "MPIJob")

    def made(name: str) -> Iterator[Made]:
        yield from ((PODS, f"{name}-worker-{index}") for index in range(WORKERS))
        yield PODS if version == "v1" else JOBS, f"{name}-launcher"

    def added(name: str) -> Iterator[Made]:
        yield PODS, f"{name}-worker-{WORKERS}"

    return Workload(resource, _mpi, "mpiReplicaSpecs", made, added)


def trainingjobs() -> Workload:
    resource = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")

    def worker(name: str, index: int) -> Iterator[Made]:
        yield PODS, f"{name}-worker-{index}"
        yield SERVICES, f"{name}-worker-{index}"

    def made(name: str) -> Iterator[Made]:
        for index in range(WORKERS):
            yield from worker(name, index)

    def added(name: str) -> Iterator[Made]:
        yield from worker(name, WORKERS)

    return Workload(resource, _elastic_training, "etReplicaSpecs", made, added, workers="worker")


def pytorchjobs() -> Workload:
    return _of_replicas("pytorchjobs", "PyTorchJob", "pytorchReplicaSpecs", "Master", _pytorch, resized=True)


def tfjobs() -> Workload:
    return _of_replicas("tfjobs", "TFJob", "tfReplicaSpecs", "Chief", _tensorflow, resized=False)


def _of_replicas(
    plural: str, kind: str, roles: str, leader: str, spec: Callable[[], Obj], *, resized: bool
) -> Workload:
    def replica(name: str) -> Iterator[Made]:
        yield PODS, name
        yield SERVICES, name

    def made(name: str) -> Iterator[Made]:
        yield from replica(f"{name}-{leader.lower()}-0")
        for index in range(WORKERS):
            yield from replica(f"{name}-worker-{index}")

    def added(name: str) -> Iterator[Made]:
        yield from replica(f"{name}-worker-{WORKERS}")

    resource = Resource("kubeflow.org", "v1", plural, kind)
    return Workload(resource, spec, roles, made, added, told=True, resized=resized)


def _mpi() -> Obj:
    return {
        "slotsPerWorker": 1,
        "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": {
            "Launcher": _role("main", ["mpirun", "-n", "2", "/bench"], 1),
            "Worker": _role("main", ["/usr/sbin/sshd", "-De"], WORKERS),
        },
    }


def _elastic_training() -> Obj:
    return {
        "slotsPerWorker": 1,
        "cleanPodPolicy": "Running",
        "etReplicaSpecs": {
            "launcher": _role("main", ["horovodrun", "-np", "2", "--min-np", "1", "--max-np", "3", "/bench"], 1),
            "worker": _role("main", ["/usr/sbin/sshd", "-De"], WORKERS),
        },
    }


def _pytorch() -> Obj:
    command = ["torchrun", "/bench.py"]
    return {
        "elasticPolicy": {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": WORKERS + 1},
        "runPolicy": {"cleanPodPolicy": "Running"},
        "pytorchReplicaSpecs": {
            "Master": _role("pytorch", command, 1, restartPolicy="OnFailure"),
            "Worker": _role("pytorch", command, WORKERS, restartPolicy="OnFailure"),
        },
    }


def _tensorflow() -> Obj:
    command = ["python", "/bench.py"]
    return {
        "runPolicy": {"cleanPodPolicy": "Running"},
        "tfReplicaSpecs": {
            "Chief": _role("tensorflow", command, 1, restartPolicy="OnFailure"),
            "Worker": _role("tensorflow", command, WORKERS, restartPolicy="OnFailure"),
        },
    }


def _role(container: str, command: Sequence[str], replicas: int, **fields: str) -> Obj:
    main = {"name": container, "image": "bench", "command": list(command)}
    return {"replicas": replicas, **fields, "template": {"spec": {"containers": [main]}}}
