# SPDX-License-Identifier: Apache-2.0
"""Jobs of the kinds whose replicas keep their names: PyTorchJobs, elastic and not, and TFJobs.

Their replicas run `files/replica`: programs that find each other and go on whatever their number.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tests.crash_jobs.jobs import LEAST, MOST, NAMESPACE, SHARED, Wanted, told, volume_of
from tests.named_replicas import WHOLE_JOB

from springtide.kube.resources import Obj, Resource

PYTORCHJOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
TFJOBS = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")


def elastic(chance: random.Random, shared: Path) -> Wanted:
    """Workers of an elastic policy; the first that succeeds ends the job."""
    bounds = {"elasticPolicy": {"rdzvBackend": "c10d", "minReplicas": LEAST, "maxReplicas": MOST}}
    policy = chance.choice(("OnFailure", "ExitCode"))
    return _pytorch(chance, shared, "torch", "Worker", policy=policy, spec=bounds, elastic=True, bounded=True)


def rigid(chance: random.Random, shared: Path) -> Wanted:
    """A master and workers, whose number stays."""
    policy = chance.choice(("Never", "OnFailure", "ExitCode"))
    return _pytorch(chance, shared, "ddp", "Master", policy=policy)


def whole(chance: random.Random, shared: Path) -> Wanted:
    """The same, restarted as a whole when one of them dies."""
    policy = chance.choice(("OnFailure", "ExitCode"))
    return _pytorch(
        chance, shared, "whole", "Master", policy=policy, whole=True, annotations={"springtide.dev/restart": WHOLE_JOB}
    )


def dynamic(chance: random.Random, shared: Path) -> Wanted:
    """Parameter servers, which never end, and workers that come and go. The first of them decides."""
    policy, size = chance.choice(("OnFailure", "ExitCode")), chance.randint(1, 3)
    others = {"PS": chance.randint(1, 2)}
    roles = {
        "PS": _role(shared, "tf", "tensorflow", others["PS"], policy),
        "Worker": _role(shared, "tf", "tensorflow", size, policy),
    }
    clean = chance.choice(("None", "Running", "All"))
    spec = {"enableDynamicWorker": True, "tfReplicaSpecs": roles, "runPolicy": {"cleanPodPolicy": clean}}
    manifest = _manifest(TFJOBS, "tf", spec, {})
    return Wanted(
        "tf",
        "v1",
        True,
        size,
        clean,
        6,
        manifest,
        TFJOBS,
        "tfReplicaSpecs",
        others,
        "Worker",
        bounded=False,
        in_place=policy == "OnFailure",
    )


DRAWS: tuple[Callable[[random.Random, Path], Wanted], ...] = (elastic, rigid, whole, dynamic)


def _pytorch(
    chance: random.Random,
    shared: Path,
    name: str,
    decides: str,
    *,
    policy: str,
    spec: Obj | None = None,
    annotations: dict[str, str] | None = None,
    elastic: bool = False,
    bounded: bool = False,
    whole: bool = False,
) -> Wanted:
    size, clean = chance.randint(1, 3), chance.choice(("None", "Running", "All"))
    others = {"Master": 1} if decides == "Master" else {}
    roles = {role: _role(shared, name, "pytorch", count, policy) for role, count in (others | {"Worker": size}).items()}
    whole_spec = {"pytorchReplicaSpecs": roles, "runPolicy": {"cleanPodPolicy": clean}, **(spec or {})}
    manifest = _manifest(PYTORCHJOBS, name, whole_spec, annotations or {})
    retries = 0 if policy == "Never" else 6
    return Wanted(
        name,
        "v1",
        elastic,
        size,
        clean,
        retries,
        manifest,
        PYTORCHJOBS,
        "pytorchReplicaSpecs",
        others,
        decides,
        bounded=bounded,
        whole=whole,
        in_place=policy == "OnFailure" and not whole,
    )


def _manifest(resource: Resource, name: str, spec: Obj, annotations: dict[str, str]) -> Obj:
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def _role(shared: Path, job: str, container: str, replicas: int, policy: str) -> Obj:
    main = {
        "name": container,
        "image": "campaign",
        "command": [f"{SHARED}/replica"],
        "env": told(job),
        "volumeMounts": [{"name": "campaign", "mountPath": SHARED}],
    }
    spec = {"containers": [main], "volumes": [volume_of(shared)], "terminationGracePeriodSeconds": 1}
    return {"replicas": replicas, "restartPolicy": policy, "template": {"spec": spec}}
