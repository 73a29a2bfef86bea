# SPDX-License-Identifier: Apache-2.0
"""The state of a job and its explanation.

The state is `.status.state`, which `kubectl get mpijob` prints as STATE; the explanation is `.status.explanation`. All
commands show only these two. Each function is a chain of cases; the first that applies counts.
"""

from __future__ import annotations

from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import condition, holds
from springtide.jobs.launchers import launching
from springtide.jobs.observed import RUNNING
from springtide.jobs.policies import worker_restart_policy
from springtide.jobs.replicas import deferring
from springtide.jobs.reporting import deliberate_waits, progress, rank_changes, replica_state, scalers
from springtide.jobs.reporting.conditions import Conditions
from springtide.jobs.reporting.state_name import State, StateName
from springtide.jobs.snapshot import Snapshot


def state(snapshot: Snapshot, conditions: Conditions, cause: str = "") -> State:
    """`cause` states what pods of the job wait for, if any do."""
    ended = _ended(snapshot, conditions)
    if ended is not None:
        return ended
    if snapshot.shape.fixed:
        return replica_state.state(snapshot, conditions, cause)
    return _working(snapshot, cause) if snapshot.runs else _not_yet(snapshot, conditions, cause)


def _ended(snapshot: Snapshot, conditions: Conditions) -> State | None:
    for type_, name in ((types.SUCCEEDED, StateName.SUCCEEDED), (types.FAILED, StateName.FAILED)):
        found = condition(conditions, type_)
        if found is not None and found.status == "True":
            more = replica_state.run_on(snapshot)
            separator = "" if not more else " " if found.message.endswith(".") else "; "
            return State(name, found.message + separator + more)
    if snapshot.job.run.suspend:
        return State(StateName.SUSPENDED, _suspended(snapshot))
    return None


def _suspended(snapshot: Snapshot) -> str:
    ending = sum(not pod.ended for pod in snapshot.observed.pods)
    if ending:
        return f"The job is suspended; {ending} of its pods {'is' if ending == 1 else 'are'} terminating."
    return "The job is suspended and has no pods."


def _working(snapshot: Snapshot, cause: str) -> State:
    ready, wanted, listed = len(launching.ready(snapshot)), snapshot.wanted_size, len(snapshot.ledger.listed)
    least = snapshot.sizes.bounds.min if snapshot.sizes.bounds else 0
    if ready < least:
        needs = f"The job waits: {_workers(ready)} ready, and it needs at least {least}"
        return State(StateName.RUNNING, _with(needs, snapshot, cause))
    if differs := deferring.explained(snapshot):
        return State(StateName.RUNNING, _with(differs, snapshot, cause))
    scales = scalers.state(snapshot)
    if scales is not None and not snapshot.ledger.draining:
        return State(scales.name, _with(scales.explanation, snapshot, cause))
    wanted_alive = wanted - len(snapshot.ledger.dead)
    if snapshot.ledger.draining:
        by = f"{snapshot.scaler.title}: " if snapshot.scaler is not None and not snapshot.scaler.adds else ""
        return State(StateName.SCALING_IN, f"{by}{deliberate_waits.draining(snapshot)}.")
    if differs := rank_changes.explained(snapshot):
        grows = listed < wanted_alive or not progress.of(snapshot.launcher).waits
        return State(StateName.SCALING_OUT if grows else StateName.RUNNING, _with(differs, snapshot, cause))
    if listed < wanted_alive and snapshot.sizes.elastic:
        return State(StateName.SCALING_OUT, _with(f"{_of(listed, wanted)} in the host list", snapshot, cause))
    return _running(snapshot, ready, wanted, cause)


def _running(snapshot: Snapshot, ready: int, wanted: int, cause: str) -> State:
    runs = (
        f"The job runs with {_workers(ready)}" if ready >= wanted else f"The job runs with {ready} of {wanted} workers"
    )
    return State(StateName.RUNNING, _with(runs, snapshot, cause))


def _with(what: str, snapshot: Snapshot, cause: str) -> str:
    """The text with the reason why it is not more: a cause outside the operator, or a deliberate wait."""
    dead = worker_restart_policy.explained(snapshot)
    if cause:
        return f"{'; '.join(filter(None, (what, dead)))}. {cause}"
    waits = deliberate_waits.settling(snapshot) or deliberate_waits.replacing(snapshot)
    return f"{'; '.join(filter(None, (what, dead, waits)))}."


def _not_yet(snapshot: Snapshot, conditions: Conditions, cause: str) -> State:
    if any(pod.terminating and not pod.ended for pod in snapshot.observed.of(snapshot.shape.launcher)):
        return State(StateName.RESTARTING, "The launcher is terminating; a new one starts when it has ended.")
    ready, wanted = len(launching.ready(snapshot)), snapshot.wanted_size
    if holds(conditions, types.RESTARTING):
        again = (
            deliberate_waits.restarting(snapshot) or f"The job is tried again; {ready} of {wanted} workers are ready"
        )
        return State(StateName.RESTARTING, _with(again, snapshot, cause))
    members = [snapshot.workers.get(index) for index in snapshot.members]
    unplaced = sum(pod is not None and not pod.node for pod in members)
    if not members and not snapshot.form.exists(snapshot):
        return State(StateName.CREATED, "The job has been accepted.")
    if unplaced and deliberate_waits.starting(snapshot):
        return State(StateName.QUEUED, _with(_too_few(snapshot, ready), snapshot, cause))
    if unplaced:
        return State(StateName.QUEUED, cause or f"{unplaced} of {wanted} workers wait for a place on a node.")
    if refusal := launching.refusal(snapshot):
        return State(StateName.STARTING, f"{refusal}.")
    if ready < wanted:
        return State(StateName.STARTING, _with(_too_few(snapshot, ready), snapshot, cause))
    if snapshot.launcher is not None and not snapshot.launcher.node:
        return State(StateName.QUEUED, cause or f"{_workers(ready)} ready; the launcher waits for a place on a node.")
    return State(StateName.STARTING, cause or f"{_workers(ready)} ready; the launcher is starting.")


def _too_few(snapshot: Snapshot, ready: int) -> str:
    least, wanted = snapshot.sizes.start_size, snapshot.wanted_size
    needs = f"the launcher starts with {f'all {wanted}' if least is None else f'at least {least.workers}'}"
    return f"{_of(ready, wanted)} ready; {deliberate_waits.starting(snapshot) or needs}"


def _of(count: int, wanted: int) -> str:
    return f"{count} of {wanted} workers {'is' if count == 1 else 'are'}"


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def restarts(snapshot: Snapshot) -> bool:
    """The job was retried and does not run again yet."""
    back = snapshot.launcher_runs if snapshot.shape.launcher else all_run(snapshot)
    return snapshot.ledger.restarted_at is not None and not back


def all_run(snapshot: Snapshot) -> bool:
    """Running in upstream's sense: the launcher and all workers, or else the replicas that determine how the job
    ends."""
    if not snapshot.shape.launcher:
        return snapshot.runs and not snapshot.ledger.retried
    alive = [index for index in snapshot.members if index not in snapshot.ledger.dead]
    pods = [snapshot.workers.get(index) for index in alive]
    complete = len(snapshot.members) >= snapshot.wanted_size
    return snapshot.runs and complete and all(pod is not None and pod.phase == RUNNING for pod in pods)
