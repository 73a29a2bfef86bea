# SPDX-License-Identifier: Apache-2.0
"""The instance of a job that a command is about when the user names none: the only pod, or else the chief."""

from __future__ import annotations

from collections.abc import Sequence

from springtide.cli.errors import ExitCode, Failure
from springtide.kube.resources import Obj
from springtide.messages import text
from springtide.views import trainers
from springtide.views.logs import log_sources
from springtide.views.pod_status import pod_status

INIT_CODE = "init-code"
"""The init container that fetches a job's code, in Arena's charts."""


class NoInstances(Failure):
    def __init__(self, job: str) -> None:
        super().__init__(text("Job {name} has no pods.", name=job), code=ExitCode.NOT_FOUND)
        self.job = job


class NoSuchInstance(Failure):
    def __init__(self, job: str, instance: str, names: Sequence[str]) -> None:
        what = text("Job {name} has no pod {pod}.", name=job, pod=instance)
        hint = text("its pods: {names}", names=", ".join(names)) if names else None
        super().__init__(what, hint=hint, code=ExitCode.NOT_FOUND)
        self.job, self.instance = job, instance


class SeveralInstances(Failure):
    def __init__(self, job: str, names: Sequence[str]) -> None:
        what = text("Job {name} has {number} pods, and none of them is its chief.", name=job, number=len(names))
        hint = text("choose one with {option}: {names}", option="-i POD", names=", ".join(names))
        super().__init__(what, hint=hint, code=ExitCode.USAGE)
        self.names = names


class NotRunning(Failure):
    def __init__(self, pod: str, status: str) -> None:
        super().__init__(text("Pod {pod} is not running: {status}", pod=pod, status=status))
        self.pod, self.status = pod, status


def instance_of(job: Obj, pods: Sequence[Obj], wanted: str) -> Obj:
    """NoInstances, NoSuchInstance or SeveralInstances."""
    name, names = job["metadata"]["name"], sorted(pod["metadata"]["name"] for pod in pods)
    if wanted:
        found = next((pod for pod in pods if pod["metadata"]["name"] == wanted), None)
        if found is None:
            raise NoSuchInstance(name, wanted, names)
        return found
    if not pods:
        raise NoInstances(name)
    if len(pods) == 1:
        return pods[0]
    chief = trainers.chief(job, pods)
    if chief is None:
        raise SeveralInstances(name, names)
    return dict(chief)


def container_for_log(pod: Obj) -> str:
    """As Arena chooses: of an initialising pod the one that fetches its code. NotRunning for a pod without logs."""
    status, phase = pod_status(pod).word, (pod.get("status") or {}).get("phase", "Pending")
    if status.startswith(("Init:", "PodInitializing")):
        return INIT_CODE
    if phase not in ("Running", "Succeeded", "Failed") or status == "Unknown":
        raise NotRunning(pod["metadata"]["name"], status)
    return log_sources.default_container(pod)


def container_for_command(pod: Obj, wanted: str) -> str:
    """The container to run a command in. NotRunning for a pod that has not started, or has ended."""
    phase, name = (pod.get("status") or {}).get("phase", "Pending"), pod["metadata"]["name"]
    if phase != "Running":
        raise NotRunning(name, pod_status(pod).word)
    names = log_sources.containers([pod])
    if wanted and wanted not in names:
        what = text("Pod {pod} has no container {container}.", pod=name, container=wanted)
        raise Failure(what, hint=text("its containers: {names}", names=", ".join(names)), code=ExitCode.NOT_FOUND)
    return wanted or log_sources.default_container(pod)
