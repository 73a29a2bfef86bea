# SPDX-License-Identifier: Apache-2.0
"""TrainingJobs of a round, and the scalers that resize them: one job through the API server, and one over SSH where
there is an sshd."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.crash_jobs.jobs import LEAST, MOST, NAMESPACE, SHARED, SSHD, Wanted, told, volume_of

from springtide.api.kinds.scalers import GROUP, VERSION
from springtide.kube.resources import Obj, Resource

TRAININGJOBS: Final = Resource(GROUP, VERSION, "trainingjobs", "TrainingJob")
SCALE_OUTS: Final = Resource(GROUP, VERSION, "scaleouts", "ScaleOut")
SCALE_INS: Final = Resource(GROUP, VERSION, "scaleins", "ScaleIn")
SCALERS: Final = (SCALE_OUTS, SCALE_INS)
_HURRY: Final = 1
"""Seconds in which new workers are often not ready."""


def attached(chance: random.Random, shared: Path) -> Wanted:
    return _job(chance, shared, "trains", "kubexec")


def logged_in(chance: random.Random, shared: Path) -> Wanted:
    name, attach = ("logs-in", "ssh") if os.access(SSHD, os.X_OK) else ("trains-too", "kubexec")
    return _job(chance, shared, name, attach)


DRAWS: tuple[Callable[[random.Random, Path], Wanted], ...] = (attached, logged_in)


def scale_out(job: str, number: int) -> tuple[Resource, Obj]:
    """`number` chooses, and makes its name another."""
    timeout = 60 if number % 3 else _HURRY
    return SCALE_OUTS, _scaler("ScaleOut", job, number, {"toAdd": {"count": 1 + number % 2}, "timeout": timeout})


def scale_in(job: str, number: int, worker: str | None) -> tuple[Resource, Obj]:
    """By name where there is one; otherwise by number."""
    what: Obj = {"podNames": [worker]} if worker and number % 2 else {"count": 1 + number % 2}
    return SCALE_INS, _scaler("ScaleIn", job, number, {"toDelete": what})


def _scaler(kind: str, job: str, number: int, spec: Obj) -> Obj:
    metadata = {"name": f"{job}-{number:03}", "namespace": NAMESPACE}
    what = {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": metadata}
    return {**what, "spec": {"selector": {"name": job}, **spec}}


def _job(chance: random.Random, shared: Path, name: str, attach: str) -> Wanted:
    size, clean, retries = chance.randint(1, 3), chance.choice(("None", "Running")), chance.choice((0, 6))
    bounds = ["-np", "1", "--min-np", str(LEAST), "--max-np", str(MOST), "--network-interfaces", "eth0"]
    script = ["--host-discovery-script", "/etc/edl/discover_hosts.sh"]
    command = [f"{SHARED}/horovodrun", *bounds, *script, "python", "train.py"]
    worker = {"replicas": size, "minReplicas": LEAST, "maxReplicas": MOST, "restartPolicy": "Always"}
    spec = {
        "launcherAttachMode": attach,
        "cleanPodPolicy": clean,
        "restartPolicy": "OnFailure" if retries else "Never",
        "backoffLimit": retries,
        "etReplicaSpecs": {
            "launcher": _template(shared, command=command, env=told(name)),
            "worker": worker | _template(shared),
        },
    }
    times = {"settle-seconds": chance.choice("01"), "drain-seconds": "6" if attach == "ssh" else "15"}
    annotations = {f"springtide.dev/{what}": value for what, value in times.items()}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
    manifest = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "TrainingJob", "metadata": metadata, "spec": spec}
    return Wanted(
        name,
        VERSION,
        True,
        size,
        clean,
        retries,
        manifest,
        TRAININGJOBS,
        "etReplicaSpecs",
        ssh=attach == "ssh",
        workers="worker",
    )


def _template(shared: Path, **container: Any) -> Obj:
    main = {"name": "et", "image": "campaign", "volumeMounts": [{"name": "campaign", "mountPath": SHARED}]}
    spec = {"containers": [main | container], "volumes": [volume_of(shared)], "terminationGracePeriodSeconds": 1}
    return {"template": {"spec": spec}}
