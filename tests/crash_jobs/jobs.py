# SPDX-License-Identifier: Apache-2.0
"""The jobs of a round: an elastic one and a plain one through the API server, and one over SSH where there is an sshd.

What a seed leaves open is drawn here: first size, what is cleaned up, whether a launcher is tried again.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from springtide.kube.resources import Obj, Resource

NAMESPACE = "campaign"
MPIJOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
"""Both versions are seen through this one."""
LEAST, MOST = 1, 4
LAUNCHER = Path(__file__).parent / "files" / "launcher"
SHARED = "/campaign"
_SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True)
class Wanted:
    """A job as it is submitted."""

    name: str
    version: str
    elastic: bool
    size: int
    clean: str
    retries: int
    """How often its launcher may fail."""
    manifest: Obj

    @property
    def least(self) -> int:
        return LEAST

    @property
    def most(self) -> int | None:
        """None where the job has no bounds."""
        return MOST if self.elastic else None

    @property
    def over_ssh(self) -> bool:
        return self.version == "v2beta1"

    def run(self, size: int) -> int:
        """The size that is run when this one is asked for."""
        return max(min(size, MOST), LEAST) if self.elastic else size


def drawn(chance: random.Random, shared: Path) -> list[Wanted]:
    ssh = os.access(_SSHD, os.X_OK)
    return [
        _job(chance, shared, "grows", "v1", elastic=True),
        _job(chance, shared, "plain", "v1", elastic=False),
        _job(chance, shared, "keyed" if ssh else "other", "v2beta1" if ssh else "v1", elastic=chance.random() < 0.7),
    ]


def _job(chance: random.Random, shared: Path, name: str, version: str, elastic: bool) -> Wanted:
    size, clean = chance.randint(1, 3), chance.choice(("None", "Running", "All"))
    retries = chance.choice((0, 6)) if version == "v1" else 6
    bounds = ["-np", "1", "--min-np", str(LEAST), "--max-np", str(MOST), "--network-interfaces", "eth0"]
    script = ["--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
    command = [f"{SHARED}/horovodrun", *bounds, *script] if elastic else [f"{SHARED}/mpirun", "-np", str(size)]
    policy = {"restartPolicy": "OnFailure" if retries else "Never"}
    launcher = _role(1, shared, command=[*command, "python", "train.py"], env=_told(name)) | policy
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


def submitted_as(version: str) -> Resource:
    return replace(MPIJOBS, version=version)


def _told(job: str) -> list[Obj]:
    uid = {"fieldRef": {"fieldPath": "metadata.uid"}}
    return [{"name": "CAMPAIGN_JOB", "value": job}, {"name": "CAMPAIGN_UID", "valueFrom": uid}]


def _role(replicas: int, shared: Path, **container: Any) -> Obj:
    main = {"name": "mpi", "image": "campaign", "volumeMounts": [{"name": "campaign", "mountPath": SHARED}]}
    volume = {"name": "campaign", "hostPath": {"path": str(shared)}}
    spec = {"containers": [main | container], "volumes": [volume], "terminationGracePeriodSeconds": 1}
    return {"replicas": replicas, "template": {"spec": spec}}


def prepare(shared: Path) -> None:
    """What the launchers of all jobs see."""
    shared.mkdir()
    shared.chmod(0o777)
    for name in ("horovodrun", "mpirun"):
        shutil.copy(LAUNCHER, shared / name)
