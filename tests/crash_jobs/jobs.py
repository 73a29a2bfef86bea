# SPDX-License-Identifier: Apache-2.0
"""MPIJobs of a round: an elastic one and a plain one through the API server, and one over SSH where there is an sshd.

What a seed leaves open is drawn here: first size, what is cleaned up, whether a launcher is tried again.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from springtide.api.kinds.trainingjob import SUSPENDED_ANNOTATION
from springtide.kube.resources import Obj, Resource

NAMESPACE = "campaign"
MPIJOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
"""Both versions are seen through this one."""
LEAST, MOST = 1, 4
FILES = Path(__file__).parent / "files"
SHARED = "/campaign"
SSHD = "/usr/sbin/sshd"
LAUNCHED = ("MPIJob", "TrainingJob")
"""Kinds with a launcher."""


@dataclass(frozen=True)
class Wanted:
    """A job as it is submitted."""

    name: str
    version: str
    elastic: bool
    size: int
    clean: str
    retries: int
    """How often its launcher, or its replicas, may fail."""
    manifest: Obj
    resource: Resource = MPIJOBS
    specs: str = "mpiReplicaSpecs"
    """Where the roles are in the spec."""
    others: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the roles beside the workers, in a kind without a launcher."""
    decides: str = "Launcher"
    """The role whose success is the job's."""
    bounded: bool = True
    """Whether the sizes of an elastic job have bounds."""
    whole: bool = False
    """It is restarted as a whole."""
    in_place: bool = False
    """Its containers are restarted by the kubelet."""
    ssh: bool = False
    workers: str = "Worker"
    """The role that is resized, as the spec calls it."""

    @property
    def named(self) -> bool:
        """Whether its replicas keep their names."""
        return self.resource.kind not in LAUNCHED

    @property
    def scaled(self) -> bool:
        """Whether scalers resize it, too."""
        return self.resource.kind == "TrainingJob"

    @property
    def leader(self) -> str:
        """The role that the others depend on most."""
        return next(iter(self.others), "Worker") if self.named else "Launcher"

    @property
    def config(self) -> str:
        """The name of its ConfigMap."""
        return f"{self.name}-{self.resource.kind.lower()}-ledger" if self.named else f"{self.name}-config"

    @property
    def most(self) -> int | None:
        """None where the job has no bounds."""
        return MOST if self.elastic and self.bounded else None

    @property
    def over_ssh(self) -> bool:
        return self.ssh or self.version == "v2beta1"

    def size_of(self, job: Obj) -> int:
        """The size that is asked for."""
        return int(job["spec"][self.specs][self.workers].get("replicas", 1))

    def resized(self, size: int) -> Obj:
        """A patch of the job."""
        return {"spec": {self.specs: {self.workers: {"replicas": size}}}}

    def suspended(self, suspend: bool) -> Obj:
        """A patch of the job."""
        if self.scaled:
            return {"metadata": {"annotations": {SUSPENDED_ANNOTATION: "true" if suspend else None}}}
        return {"spec": {"runPolicy": {"suspend": suspend}}}

    def run(self, size: int) -> int:
        """The size that is run when this one is asked for."""
        return max(min(size, self.most), LEAST) if self.most else size


def grows(chance: random.Random, shared: Path) -> Wanted:
    return _job(chance, shared, "grows", "v1", elastic=True)


def plain(chance: random.Random, shared: Path) -> Wanted:
    return _job(chance, shared, "plain", "v1", elastic=False)


def keyed(chance: random.Random, shared: Path) -> Wanted:
    ssh = os.access(SSHD, os.X_OK)
    name, version = ("keyed", "v2beta1") if ssh else ("other", "v1")
    return _job(chance, shared, name, version, elastic=chance.random() < 0.7)


DRAWS: tuple[Callable[[random.Random, Path], Wanted], ...] = (grows, plain, keyed)


def _job(chance: random.Random, shared: Path, name: str, version: str, elastic: bool) -> Wanted:
    size, clean = chance.randint(1, 3), chance.choice(("None", "Running", "All"))
    retries = chance.choice((0, 6)) if version == "v1" else 6
    bounds = ["-np", "1", "--min-np", str(LEAST), "--max-np", str(MOST), "--network-interfaces", "eth0"]
    script = ["--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
    command = [f"{SHARED}/horovodrun", *bounds, *script] if elastic else [f"{SHARED}/mpirun", "-np", str(size)]
    policy = {"restartPolicy": "OnFailure" if retries else "Never"}
    launcher = _role(1, shared, command=[*command, "python", "train.py"], env=told(name)) | policy
    spec = {
        "mpiReplicaSpecs": {"Launcher": launcher, "Worker": _role(size, shared)},
        "runPolicy": {"cleanPodPolicy": clean, "backoffLimit": retries},
    }
    times = {"settle-seconds": chance.choice("01"), "drain-seconds": "6" if version == "v2beta1" else "15"}
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "annotations": {f"springtide.dev/{what}": value for what, value in times.items()},
    }
    manifest = {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": metadata, "spec": spec}
    return Wanted(name, version, elastic, size, clean, retries, manifest)


def submitted_as(wanted: Wanted) -> Resource:
    return replace(wanted.resource, version=wanted.version)


def told(job: str) -> list[Obj]:
    uid = {"fieldRef": {"fieldPath": "metadata.uid"}}
    return [{"name": "CAMPAIGN_JOB", "value": job}, {"name": "CAMPAIGN_UID", "valueFrom": uid}]


def _role(replicas: int, shared: Path, **container: Any) -> Obj:
    main = {"name": "mpi", "image": "campaign", "volumeMounts": [{"name": "campaign", "mountPath": SHARED}]}
    spec = {"containers": [main | container], "volumes": [volume_of(shared)], "terminationGracePeriodSeconds": 1}
    return {"replicas": replicas, "template": {"spec": spec}}


def volume_of(shared: Path) -> Obj:
    return {"name": "campaign", "hostPath": {"path": str(shared)}}


def prepare(shared: Path) -> None:
    """What the launchers and replicas of all jobs see."""
    shared.mkdir()
    shared.chmod(0o777)
    for name, program in {"horovodrun": "launcher", "mpirun": "launcher", "replica": "replica"}.items():
        shutil.copy(FILES / program, shared / name)
