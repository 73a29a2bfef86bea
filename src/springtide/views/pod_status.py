# SPDX-License-Identifier: Apache-2.0
"""The status of a pod in one word, as `kubectl get pods` shows it.

The word is not a field of the pod: it is derived from its containers, the most important one first. Users and scripts
know these words (`Init:0/1`, `CrashLoopBackOff`, `Completed`), so they follow kube-apiserver's printer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Obj = Mapping[str, Any]


class PodStatus(NamedTuple):
    word: str
    ready: int
    containers: int
    """The number of containers, with sidecars."""
    restarts: int
    last_restart: str
    """When the last container was restarted; empty if none was."""


def pod_status(pod: Obj) -> PodStatus:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    tally, reason = _Tally(), _first_word(status)
    sidecar_tally = _Tally()
    stuck = _initialising(spec, status, sidecars, (tally, sidecar_tally))
    if stuck:
        reason = stuck
    if not stuck or holds(status, "Initialized"):
        tally.restarts, tally.last_restart = sidecar_tally.restarts, sidecar_tally.last_restart
        reason = _running(status, reason, tally)
    total = len(spec.get("containers") or ()) + len(sidecars)
    return PodStatus(_last_word(pod, status, reason), tally.ready, total, tally.restarts, tally.last_restart)


class _Tally:
    """Totals of the containers evaluated so far."""

    __slots__ = ("last_restart", "ready", "restarts")

    def __init__(self) -> None:
        self.ready, self.restarts, self.last_restart = 0, 0, ""

    def count_restarts(self, status: Obj) -> None:
        self.restarts += status.get("restartCount", 0)
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.last_restart = max(self.last_restart, ended)


def _first_word(status: Obj) -> str:
    word: str = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return word


def _initialising(spec: Obj, status: Obj, sidecars: Iterable[str], tallies: tuple[_Tally, _Tally]) -> str:
    """The status word of the init container that the pod waits for; empty when all have finished."""
    tally, sidecar_tally = tallies
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        tally.count_restarts(container)
        is_sidecar = container.get("name") in sidecars
        if is_sidecar:
            sidecar_tally.count_restarts(container)
        state: Obj = container.get("state") or {}
        ended: Obj | None = state.get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            tally.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_exit_word(ended)}"
        waiting: str = (state.get("waiting") or {}).get("reason", "")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(spec.get('initContainers') or ())}"
    return ""


def _exit_word(ended: Mapping[str, Any]) -> str:
    if reason := ended.get("reason"):
        return str(reason)
    if signal := ended.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _running(status: Obj, reason: str, tally: _Tally) -> str:
    """The word of the first container that has one; a pod with running and completed ones counts as running."""
    any_running, failure = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        tally.count_restarts(container)
        state: Obj = container.get("state") or {}
        ended: Obj | None = state.get("terminated")
        waiting = (state.get("waiting") or {}).get("reason")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _exit_word(ended)
            if ended.get("exitCode"):
                failure = reason
        elif container.get("ready") and state.get("running") is not None:
            any_running = True
            tally.ready += 1
    if reason != "Completed":
        return reason
    if any_running and holds(status, "Ready"):
        return "Running"
    return failure or ("NotReady" if any_running else reason)


def _last_word(pod: Obj, status: Obj, reason: str) -> str:
    if pod["metadata"].get("deletionTimestamp") is None:
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Failed", "Succeeded") else "Terminating"


def holds(status: Obj, kind: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )
