# SPDX-License-Identifier: Apache-2.0
"""An elastic job of a directory: the MPIJob that `tide run -- python train.py` creates.

Its launcher is tiderun, which starts the program on every worker. On the embedded cluster the directory is mounted at
its own path; elsewhere the program is part of the image.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

LABEL: Final = "springtide.dev/run"
"""The label of jobs that were made from a directory; its value is the directory's name."""
COMMAND: Final = "springtide.dev/command"
"""The annotation with the program, as a shell's command line."""
_DISCOVERY: Final = "/etc/mpi/discover_hosts.sh"
_VOLUME: Final = "directory"
_CONTAINER: Final = "train"
_LONGEST_NAME: Final = 40
"""Characters; names of pods add to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryJob:
    name: str
    namespace: str
    command: tuple[str, ...]
    image: str
    workers: int = 2
    min: int = 1
    max: int = 4
    gpus: int = 0
    """For each worker."""
    cpu: str = ""
    memory: str = ""
    """Requests of each worker."""
    variables: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    """The directory of this machine; empty where the program is in the image."""
    reaches_by_api: bool = False
    """Whether the launcher reaches its workers through the API server, which needs a kubectl in the launcher's pod,
    instead of over SSH."""


def manifest(job: DirectoryJob) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "slotsPerWorker": max(job.gpus, 1),
        "runPolicy": {"cleanPodPolicy": "Running"},
        "elasticPolicy": {"minReplicas": job.min, "maxReplicas": job.max},
        "mpiReplicaSpecs": {"Launcher": _launcher(job), "Worker": _worker(job)},
    }
    if job.reaches_by_api:
        spec["launcherAttachMode"] = "kubexec"
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": {LABEL: name_of(job.directory.rpartition("/")[2] or job.name)},
            "annotations": {COMMAND: shlex.join(job.command)},
        },
        "spec": spec,
    }


def _launcher(job: DirectoryJob) -> dict[str, Any]:
    slots = max(job.gpus, 1)
    arguments = ["-np", str(job.workers * slots), "--min-np", str(job.min * slots), "--max-np", str(job.max * slots)]
    arguments += ["--host-discovery-script", _DISCOVERY, *map(_literal, job.command)]
    container = _container(job) | {"command": ["tiderun"], "args": arguments}
    return {"replicas": 1, "restartPolicy": "Never", "template": _template(job, container)}


def _worker(job: DirectoryJob) -> dict[str, Any]:
    container = _container(job)
    requests = {name: value for name, value in (("cpu", job.cpu), ("memory", job.memory)) if value}
    resources: dict[str, Any] = {"requests": requests} if requests else {}
    if job.gpus:
        resources["limits"] = {"nvidia.com/gpu": job.gpus}
    if resources:
        container["resources"] = resources
    return {"replicas": job.workers, "template": _template(job, container)}


def _container(job: DirectoryJob) -> dict[str, Any]:
    # Without GPUs, ranks share the cores of a machine: threads of their own would slow each other down.
    threads = {} if job.gpus else {"OMP_NUM_THREADS": "1"}
    variables = {"PYTHONUNBUFFERED": "1", **threads, **job.variables}
    container: dict[str, Any] = {
        "name": _CONTAINER,
        "image": job.image,
        "env": [{"name": name, "value": _literal(value)} for name, value in variables.items()],
    }
    if job.directory:
        container["workingDir"] = job.directory
        container["volumeMounts"] = [{"name": _VOLUME, "mountPath": job.directory}]
    return container


def _template(job: DirectoryJob, container: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [container]}
    if job.directory:
        spec["volumes"] = [{"name": _VOLUME, "hostPath": {"path": job.directory, "type": "Directory"}}]
    return {"spec": spec}


def _literal(word: str) -> str:
    """Kubernetes replaces $(NAME) in arguments and in values of variables, and $$ by $."""
    return word.replace("$", "$$")


def name_of(directory: str) -> str:
    """A name for jobs of a directory of this name."""
    name = re.sub("[^a-z0-9]+", "-", directory.lower()).strip("-")
    name = name if name[:1].isalpha() else f"run-{name}"
    return name[:_LONGEST_NAME].strip("-")


def problems(job: DirectoryJob) -> tuple[str, ...]:
    """The options that contradict each other."""
    found = []
    if job.min < 1:
        found.append("--min")
    if not job.min <= job.workers:
        found.append("--workers")
    if job.max < job.workers:
        found.append("--max")
    return tuple(found)
