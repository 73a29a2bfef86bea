# SPDX-License-Identifier: Apache-2.0
"""Determines from a pod's status what keeps the pod from running. Pure.

The scheduler reports it in the condition `PodScheduled`, the kubelet in the state of a container. If a kubelet cannot
mount a volume it reports that in events only: the container then stays in `ContainerCreating`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from springtide.controllers.views import Condition, ContainerStatus, PodView, Terminated
from springtide.jobs.observed import FAILED, SUCCEEDED, Exit, Waiting
from springtide.jobs.reporting import quoting
from springtide.jobs.reporting.wait_causes import CONTAINER_CREATING, CRASH_LOOP

_INITIALIZING: Final = "PodInitializing"
"""The reason of a container that waits for init containers, whose own states are more specific."""


def waiting(view: PodView) -> Waiting | None:
    if view.status.phase in (SUCCEEDED, FAILED):
        return None
    if not view.spec.node_name:
        return _unscheduled(view.status.conditions)
    creating = None
    for statuses in (view.status.init_container_statuses, view.status.container_statuses):
        for status in statuses:
            if status.state.waiting is None and status.last_state.terminated is None:
                continue  # as most do: this runs for every pod at every reconcile
            found = _of_container(view, status)
            if found is not None and found.reason != CONTAINER_CREATING:
                return found
            creating = creating or found
    return creating


def _unscheduled(conditions: Iterable[Condition]) -> Waiting | None:
    said = next((each for each in conditions if each.type == "PodScheduled" and each.status == "False"), None)
    if said is None:
        return None
    return Waiting(
        quoting.line(said.reason, quoting.REASON) or "Unschedulable", quoting.line(said.message, quoting.DETAILS)
    )


def _of_container(view: PodView, status: ContainerStatus) -> Waiting | None:
    waits, before = status.state.waiting, status.last_state.terminated
    if waits is not None and waits.reason and waits.reason != _INITIALIZING:
        return Waiting(
            quoting.line(waits.reason, quoting.REASON),
            quoting.line(waits.message, quoting.DETAILS),
            quoting.line(status.name),
            since=view.status.start_time,
            sandbox=_has_sandbox(view.status.conditions),
            exit=ended_as(before) if waits.reason == CRASH_LOOP else None,
        )
    if waits is not None or before is None or not before.exit_code:
        return None
    runs, ended = status.state.running, status.state.terminated
    if ended is not None and not ended.exit_code:
        return None
    return Waiting(
        CRASH_LOOP,
        container=quoting.line(status.name),
        exit=ended_as(ended or before),
        restarted=runs.started_at if runs else None,
    )


def _has_sandbox(conditions: Iterable[Condition]) -> bool:
    return any(each.type == "PodReadyToStartContainers" and each.status == "True" for each in conditions)


def ended_as(ended: Terminated | None) -> Exit | None:
    if ended is None:
        return None
    return Exit(ended.exit_code, quoting.line(ended.reason, quoting.REASON), quoting.lines(ended.message))
