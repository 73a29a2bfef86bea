# SPDX-License-Identifier: Apache-2.0
"""The script of a scaler: run in the launcher before the host list changes, at least once, and never again after its
success has been recorded."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from springtide.api.kinds.conditions import condition
from springtide.api.kinds.scalers import UID_VARIABLE
from springtide.jobs import times
from springtide.jobs.actions import RunScript
from springtide.jobs.launchers import launching
from springtide.jobs.observed import Pod
from springtide.jobs.policies import backoff_limit
from springtide.jobs.scaling import newcomers, turns
from springtide.jobs.scaling.phases import ScalerPhase
from springtide.jobs.scaling.scaler import Scaler, ScriptRun
from springtide.jobs.snapshot import Snapshot

TIMED_OUT: Final = 124
"""The exit code of timeout(1) for a script that has not ended in time."""
KILLED_AFTER: Final = "5"
"""Seconds for a script that has not ended in time and ignores SIGTERM: the next attempt must not run beside it."""


def run(snapshot: Snapshot) -> ScriptRun | None:
    """The run of the current attempt, if it is known."""
    scaler = snapshot.scaler
    found = snapshot.observed.scripts.get(scaler.uid) if scaler is not None else None
    return found if scaler is not None and found and found.attempt == scaler.status.script_failures else None


def started(snapshot: Snapshot) -> tuple[RunScript, ...]:
    scaler, launcher = snapshot.scaler, snapshot.launcher
    if scaler is None or launcher is None or not is_due(snapshot) or left(snapshot) > timedelta(0):
        return ()
    return (_action(snapshot, scaler, launcher),)


def is_due(snapshot: Snapshot) -> bool:
    """Whether the script is to be run and is not running. That of a ScaleOut waits until its workers can be listed."""
    scaler = snapshot.scaler
    if scaler is None or turns.script_is_done(scaler) or run(snapshot) is not None:
        return False
    return not scaler.adds or (newcomers.all_ready(snapshot) and launching.settled(snapshot))


def left(snapshot: Snapshot) -> timedelta:
    """How long until a failed script is run again."""
    at = again_at(snapshot)
    return max(at - snapshot.now, timedelta(0)) if at is not None else timedelta(0)


def again_at(snapshot: Snapshot) -> datetime | None:
    """The condition is updated with each failure."""
    scaler = snapshot.scaler
    if scaler is None or not scaler.status.script_failures:
        return None
    since = condition(scaler.status.conditions, ScalerPhase.SCALING.value)
    failed = since.last_update_time if since is not None else None
    return times.after(failed or scaler.created or snapshot.now, backoff_limit.delay(scaler.status.script_failures))


def seconds(scaler: Scaler) -> int:
    """`timeout 0` would be no limit."""
    return max(int(scaler.timeout.total_seconds()), 1)


def _action(snapshot: Snapshot, scaler: Scaler, launcher: Pod) -> RunScript:
    names = newcomers.names(snapshot) if scaler.adds else scaler.status.to_delete_pods
    hosts = ",".join(f"{name}:{snapshot.shape.slots_per_worker}" for name in names)
    variables = (*(f"{name}={value}" for name, value in scaler.env), f"{UID_VARIABLE}={scaler.uid}")
    return RunScript(
        scaler=scaler.uid,
        attempt=scaler.status.script_failures,
        pod=launcher.name,
        uid=launcher.uid,
        container=_container(snapshot),
        argv=("env", *variables, "timeout", "-k", KILLED_AFTER, str(seconds(scaler)), "sh", scaler.script, hosts),
        timeout=timedelta(seconds=seconds(scaler)),
    )


def _container(snapshot: Snapshot) -> str:
    containers = snapshot.job.roles[snapshot.shape.launcher].template["spec"]["containers"]
    return str(containers[0]["name"])
