# SPDX-License-Identifier: Apache-2.0
"""The fields of a TrainingJob's status that no other kind has: its phase, its steps as conditions, its workers by name.

A condition is added for each step of a start: Created, WorkersCreated, WorkersReady, LauncherCreated, Running, in this
order. With the launcher they are removed: a job that is started again, or resumed, takes the steps anew.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from springtide.api.kinds import trainingjob
from springtide.api.kinds.conditions import RUNNING, SUCCEEDED, Condition, condition, finished, holds
from springtide.api.kinds.replicas import LAUNCHER
from springtide.api.kinds.status import JobStatus, ReplicaStatus
from springtide.api.kinds.trainingjob import LAUNCHER_CREATED, WORKERS_CREATED, WORKERS_READY, TrainingJobStatus
from springtide.jobs import observed
from springtide.jobs.launchers import launching
from springtide.jobs.replicas import moving
from springtide.jobs.reporting.conditions import Conditions, merged, true
from springtide.jobs.snapshot import Snapshot

STEPS: Final = (WORKERS_CREATED, WORKERS_READY, LAUNCHER_CREATED)


def filled(snapshot: Snapshot, status: JobStatus) -> JobStatus:
    """The status with these fields; `snapshot` is the job as it will be after its plan."""
    if not isinstance(status, TrainingJobStatus):
        return status
    now = replace(
        status,
        replica_statuses={LAUNCHER: ReplicaStatus(), **status.replica_statuses},
        current_workers=_current_workers(snapshot),
        restart_count=snapshot.ledger.restarts,
        current_scaler=_current_scaler(snapshot),
    )
    if finished(status.conditions):
        return replace(now, phase=_ended(status.conditions))
    now = replace(now, conditions=_steps(snapshot, status.conditions), target_workers=_target_workers(snapshot))
    return replace(now, phase=_phase(snapshot, now))


def _current_scaler(snapshot: Snapshot) -> str:
    scaler, job = snapshot.scaler, snapshot.job
    if scaler is None or job.run.suspend or finished(job.status.conditions):
        return ""
    return f"{scaler.kind}:{job.metadata.namespace}/{scaler.name}"


def _ended(conditions: Conditions) -> str:
    return trainingjob.PHASE_SUCCEEDED if holds(conditions, SUCCEEDED) else trainingjob.PHASE_FAILED


def _phase(snapshot: Snapshot, status: TrainingJobStatus) -> str:
    if snapshot.job.run.suspend:
        return trainingjob.PHASE_SUSPENDED
    if status.current_scaler:
        return trainingjob.PHASE_SCALING
    return trainingjob.PHASE_RUNNING if holds(status.conditions, RUNNING) else trainingjob.PHASE_CREATED


def _steps(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    """Running is set with the launcher, not only with all workers, and comes last."""
    if snapshot.job.run.suspend:
        return _without(conditions, *STEPS)
    if holds(conditions, LAUNCHER_CREATED) and not _has_launcher(snapshot) and not snapshot.ledger.serves:
        conditions = _without(conditions, *STEPS, RUNNING)
    before = conditions
    for step in _taken(snapshot):
        if not holds(conditions, step.type):
            conditions = merged(conditions, step, snapshot.now)
    runs = condition(conditions, RUNNING)
    if runs is not None and conditions != before:
        conditions = (*_without(conditions, RUNNING), runs)
    return conditions


def _taken(snapshot: Snapshot) -> list[Condition]:
    """The steps that have been taken."""
    title, wanted, ready = snapshot.title, snapshot.wanted_size, len(launching.ready(snapshot))
    members, launcher = set(snapshot.members) - set(snapshot.ledger.dead), _has_launcher(snapshot)
    exist = len(snapshot.members) >= wanted and members <= snapshot.workers.keys()
    created = f"All {wanted} workers of {title} are created."
    are_ready = f"{ready} of {wanted} workers of {title} are ready."
    steps = [
        (exist or launcher, true(WORKERS_CREATED, "TrainingJobWorkersCreated", created)),
        (ready >= wanted or launcher, true(WORKERS_READY, "TrainingJobWorkersReady", are_ready)),
        (launcher, true(LAUNCHER_CREATED, "TrainingJobLauncherCreated", f"The launcher of {title} is created.")),
        (snapshot.launcher_runs, true(RUNNING, f"{snapshot.job.kind}Running", f"{title} is running.")),
    ]
    return [step for taken, step in steps if taken]


def _has_launcher(snapshot: Snapshot) -> bool:
    """A launcher that has failed and is to be created again does not count."""
    pod = snapshot.launcher
    return pod is not None and not pod.terminating and (not pod.uid or pod.uid != snapshot.ledger.retired)


def _without(conditions: Conditions, *types: str) -> Conditions:
    return tuple(each for each in conditions if each.type not in types)


def _target_workers(snapshot: Snapshot) -> tuple[str, ...]:
    """Workers that are replaced because their nodes are going away do not count beside their replacements."""
    members = set(snapshot.ledger.members) - set(moving.leavers(snapshot))
    return tuple(snapshot.worker_name(index) for index in sorted(members))


def _current_workers(snapshot: Snapshot) -> tuple[str, ...]:
    found = sorted(snapshot.workers.items())
    return tuple(pod.name for _, pod in found if pod.phase == observed.RUNNING and pod.alive)
