# SPDX-License-Identifier: Apache-2.0
"""A pod's phase, derived from the statuses of its containers as in kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import restarts
from springtide.local.kubelet.specs import pod_specs


@dataclass(slots=True)
class _Count:
    pending: int = 0
    """Ordinary init containers that are not complete."""
    unstarted: int = 0
    """Sidecars that have not started."""
    broken: int = 0
    """Init containers that failed for good."""
    running: int = 0
    waiting: int = 0
    stopped: int = 0
    stopped_for_good: int = 0
    succeeded: int = 0


def phase(pod: Mapping[str, Any], containers: Mapping[str, Obj], initialized: bool, terminal: bool) -> str:
    """The phase of a pod that is not about to start over.

    `terminal`: nothing runs and nothing will run again, whatever the restart policy is.
    """
    count = _counted(pod, containers)
    if count.broken:
        return "Failed"
    if count.pending or (count.unstarted and not initialized) or count.waiting:
        return "Pending"
    if count.running:
        return "Running"
    if not count.stopped:
        return "Pending"
    if not terminal and count.stopped != count.stopped_for_good:
        return "Running"
    return "Succeeded" if count.stopped == count.succeeded else "Failed"


def _counted(pod: Mapping[str, Any], containers: Mapping[str, Obj]) -> _Count:
    count, policy = _Count(), pod["spec"].get("restartPolicy") or "Always"
    for container in pod_specs.init_containers(pod):
        status = containers[container["name"]]
        if pod_specs.is_sidecar(container):
            _count_sidecar(count, status)
        else:
            _count_init(count, container, status, policy)
    for container in pod_specs.main_containers(pod):
        _count_main(count, container, containers[container["name"]], policy)
    return count


def _end_of(status: Obj) -> Obj | None:
    """The end of the newest attempt, also when the container already waits for the next one."""
    end: Obj | None = status["state"].get("terminated")
    if end is None and "waiting" in status["state"]:
        end = status["lastState"].get("terminated")
    return end


def _runs_again(container: Obj, end: Obj, policy: str) -> bool:
    if end.get("reason") == "RestartingAllContainers":
        return True
    return restarts.should_restart(container, policy, end["exitCode"])


def _count_init(count: _Count, container: Obj, status: Obj, policy: str) -> None:
    end = _end_of(status)
    if end is None:
        count.pending += 1
    elif end["exitCode"] != 0:
        count.broken += not _runs_again(container, end, policy)


def _count_sidecar(count: _Count, status: Obj) -> None:
    if "running" in status["state"]:
        count.running += 1
        count.unstarted += not status["started"]
    elif _end_of(status) is None:
        count.unstarted += 1
        count.waiting += 1


def _count_main(count: _Count, container: Obj, status: Obj, policy: str) -> None:
    end = _end_of(status)
    if "running" in status["state"]:
        count.running += 1
    elif end is None:
        count.waiting += 1
    else:
        count.stopped += 1
        count.stopped_for_good += not _runs_again(container, end, policy)
        count.succeeded += "terminated" in status["state"] and end["exitCode"] == 0
