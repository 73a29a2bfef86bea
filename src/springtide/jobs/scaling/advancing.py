# SPDX-License-Identifier: Apache-2.0
"""The scalers' statuses from now on: at most one transition of each in one plan.

The writes are the first actions of the plan. The rest of the plan acts on the new statuses, so it is executed only if
all of them were accepted. An operator that dies in between has recorded what the next one continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import condition, holds
from springtide.api.kinds.scalers import ScalerStatus
from springtide.jobs import times
from springtide.jobs.actions import Action, BindScaler, Patch, ScalerEvent, ScalerStatusPatch
from springtide.jobs.endings import causes
from springtide.jobs.observed import Key
from springtide.jobs.reporting import quoting, wait_causes
from springtide.jobs.scaling import judging, newcomers, scripts, statuses, turns, victims
from springtide.jobs.scaling.judging import Change
from springtide.jobs.scaling.phases import ScalerPhase, Trigger
from springtide.jobs.scaling.scaler import Scaler, ScriptRun
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import NEVER, clock

MOST_AT_ONCE: Final = 100
"""Statuses of scalers that one plan writes. The next plan continues."""


class Step(NamedTuple):
    """A transition, and what users read of it."""

    status: ScalerStatus
    reason: str = ""
    """Of the event; empty: none."""
    message: str = ""
    warns: bool = False


def advanced(snapshot: Snapshot) -> tuple[Snapshot, tuple[Action, ...]]:
    """The snapshot with the new statuses, and the actions that record them."""
    writes: list[Action] = []
    binds: list[Action] = []
    fresh: dict[str, Scaler] = {}
    waiting = turns.pending(snapshot.observed.scalers, snapshot.scaler)
    for scaler, ahead in zip(waiting, (None, *waiting), strict=False):
        step = _step(snapshot, scaler, ahead)
        if step is not None and len(fresh) < MOST_AT_ONCE:
            fresh[scaler.uid] = replace(scaler, status=step.status)
            writes += [ScalerStatusPatch(scaler, step.status), *_told(scaler, step)]
        if not scaler.bound and len(binds) < MOST_AT_ONCE:
            binds.append(BindScaler(scaler))
    if not fresh:
        return snapshot, tuple(binds)
    scalers = tuple(fresh.get(each.uid, each) for each in snapshot.observed.scalers)
    return snapshot.with_scalers(scalers), (*writes, *binds)


def _told(scaler: Scaler, step: Step) -> tuple[ScalerEvent, ...]:
    kind = "Warning" if step.warns else "Normal"
    return (ScalerEvent(scaler, kind, step.reason, quoting.lines(step.message)),) if step.reason else ()


def _step(snapshot: Snapshot, scaler: Scaler, ahead: Scaler | None) -> Step | None:
    match turns.phase(scaler):
        case ScalerPhase.NEW:
            return Step(statuses.accepted(scaler.status, _waits_for(snapshot, scaler, ahead), snapshot.now))
        case ScalerPhase.CREATED:
            return _of_waiting(snapshot, scaler, ahead)
        case _ if snapshot.scaler is not None and snapshot.scaler.uid == scaler.uid:
            return _of_current(snapshot, scaler)
    why = f"Another scaler of the job is in progress; create the {scaler.kind} again"
    return _failed(snapshot, scaler, Trigger.ABORTED, why)


# Scalers that wait.


def _of_waiting(snapshot: Snapshot, scaler: Scaler, ahead: Scaler | None) -> Step | None:
    if why := _over(snapshot, scaler):
        return _failed(snapshot, scaler, Trigger.ABORTED, why)
    if ahead is None and scaler.bound and _serves(snapshot):
        return _turn(snapshot, scaler)
    message = _waits_for(snapshot, scaler, ahead)
    before = condition(scaler.status.conditions, ScalerPhase.CREATED.value)
    if before is not None and before.message == message:
        return None
    return Step(statuses.waiting(scaler.status, message, snapshot.now))


def _turn(snapshot: Snapshot, scaler: Scaler) -> Step:
    change = judging.judged(snapshot, scaler)
    if not isinstance(change, Change):
        return _failed(snapshot, scaler, Trigger.REFUSED, f"{change}; nothing was changed")
    message = _started(snapshot, scaler, change)
    status = statuses.started(scaler.status, change, message, snapshot.now)
    return Step(status, statuses.STARTED, message)


def _started(snapshot: Snapshot, scaler: Scaler, change: Change) -> str:
    sizes = _sizes(change.start, change.target)
    if not scaler.adds:
        return f"{sizes}: {_named(change.victims)} will be removed" if change.victims else sizes
    until = clock(times.after(snapshot.now, scaler.timeout), snapshot.now)
    added = _workers(change.target - change.start)
    return f"{sizes}: {added} added, and removed again unless all of them are ready by {until}"


def _waits_for(snapshot: Snapshot, scaler: Scaler, ahead: Scaler | None) -> str:
    if ahead is not None:
        return f"{scaler.title} waits for {ahead.title}, which comes before it"
    if not _serves(snapshot):
        return f"{scaler.title} waits until the launcher of {snapshot.title} runs"
    return f"{scaler.title} is created"


# The scaler in progress.


def _of_current(snapshot: Snapshot, scaler: Scaler) -> Step | None:
    if is_done(snapshot) and (_recorded(snapshot, scaler) or _is_deleted(snapshot)):
        return _succeeded(snapshot, scaler)
    if why := _impossible(snapshot, scaler):
        return _failed(snapshot, scaler, Trigger.ABORTED, why)
    if is_done(snapshot):
        return None
    if why := _over(snapshot, scaler) or _launcher_lost(snapshot, scaler):
        return _failed(snapshot, scaler, Trigger.ABORTED, why)
    if why := _late(snapshot):
        return _failed(snapshot, scaler, Trigger.TIMED_OUT, why)
    ran = scripts.run(snapshot)
    if ran is not None and ran.exit_code is not None and not turns.script_is_done(scaler):
        return _of_script(snapshot, scaler, ran)
    names = newcomers.names(snapshot)
    return Step(statuses.named(scaler.status, names)) if names and names != scaler.status.add_pods else None


def is_done(snapshot: Snapshot) -> bool:
    """Whether the scaler in progress has changed the job. Its size may not be in the spec yet."""
    scaler = snapshot.scaler
    if scaler is None:
        return False
    if scaler.adds:
        return snapshot.ledger.scaled == scaler.uid
    return turns.script_is_done(scaler) and not victims.remaining(snapshot)


def size_written(snapshot: Snapshot) -> Patch | None:
    """The write of the new size to the job's spec, which is due before the scaler has succeeded: it is rejected if the
    job has changed since it was observed, so an operator with a stale view never undoes a later resize."""
    scaler, job = snapshot.scaler, snapshot.job
    if scaler is None or not is_done(snapshot) or _recorded(snapshot, scaler):
        return None
    *path, last = snapshot.shape.size_field
    body: dict[str, object] = {last: scaler.status.target_size}
    for name in reversed(path):
        body = {name: body}
    key = Key(job.api_version, job.kind, job.metadata.name)
    return Patch(key, body, job.metadata.resource_version, job.metadata.uid)


def left(snapshot: Snapshot) -> timedelta:
    """How long until the scaler in progress has to be looked at again, whatever happens."""
    scaler = snapshot.scaler
    if scaler is None:
        return NEVER
    waits = [NEVER if newcomers.all_ready(snapshot) else deadline(scaler, snapshot.now) - snapshot.now]
    waits += [scripts.left(snapshot)] if scripts.is_due(snapshot) else []
    return min(waits)


def deadline(scaler: Scaler, now: datetime) -> datetime:
    """When the new workers have to be ready."""
    began = condition(scaler.status.conditions, ScalerPhase.SCALING.value)
    since = began.last_transition_time if began is not None else None
    return times.after(since or scaler.status.start_time or scaler.created or now, scaler.timeout)


def _recorded(snapshot: Snapshot, scaler: Scaler) -> bool:
    role = snapshot.job.roles.get(snapshot.shape.workers)
    return role is None or not snapshot.shape.size_field or role.replicas == scaler.status.target_size


def _serves(snapshot: Snapshot) -> bool:
    launcher = snapshot.launcher
    return launcher is not None and snapshot.launcher_runs and launcher.uid == snapshot.ledger.serves


def _is_deleted(snapshot: Snapshot) -> bool:
    return snapshot.job.metadata.deletion_timestamp is not None


def _over(snapshot: Snapshot, scaler: Scaler) -> str:
    """Why the job is not resized any more, whether it runs or not."""
    conditions = snapshot.job.status.conditions
    if _is_deleted(snapshot):
        return f"{snapshot.title} is being deleted"
    if holds(conditions, types.SUCCEEDED):
        return f"{snapshot.title} has succeeded; a job that has finished is not resized"
    if holds(conditions, types.FAILED):
        return f"{snapshot.title} has failed; a job that has finished is not resized"
    if snapshot.job.run.suspend:
        return f"{snapshot.title} is suspended; create the {scaler.kind} again when it has been resumed"
    return ""


def _launcher_lost(snapshot: Snapshot, scaler: Scaler) -> str:
    if _serves(snapshot):
        return ""
    return f"The launcher of {snapshot.title} ended; create the {scaler.kind} again when the next one runs"


def _impossible(snapshot: Snapshot, scaler: Scaler) -> str:
    """The scaler, the bounds, or the launcher's command line may have changed since the scaler was judged."""
    start, target = scaler.status.start_size or 0, scaler.status.target_size or 0
    return (
        judging.unusable(snapshot, scaler)
        or judging.outside(snapshot, start, target)
        or judging.mismatched(snapshot, scaler, start, target)
    )


def _late(snapshot: Snapshot) -> str:
    """Why the new workers are given up: one has failed too often, or their time is over."""
    scaler = snapshot.scaler
    if scaler is None or newcomers.all_ready(snapshot):
        return ""
    if (loss := newcomers.exhausted(snapshot)) is not None:
        name = snapshot.worker_name(loss.index)
        return f"{_counted(snapshot)}; {name} {loss.cause}, like its predecessors"
    if deadline(scaler, snapshot.now) > snapshot.now:
        return ""
    seconds = int(scaler.timeout.total_seconds())
    return f"{_counted(snapshot)} within {seconds} s{missing(snapshot)}"


def _counted(snapshot: Snapshot) -> str:
    return f"{len(newcomers.ready(snapshot))} of {newcomers.awaited(snapshot)} ready"


def missing(snapshot: Snapshot) -> str:
    """The first new worker that is not ready, and why, as the rest of a sentence."""
    ready = set(newcomers.ready(snapshot))
    index = next((index for index in newcomers.members(snapshot) if index not in ready), None)
    if index is None:
        return "; a failed one is in back-off before it is replaced" if newcomers.members(snapshot) else ""
    pod, name = snapshot.workers.get(index), snapshot.worker_name(index)
    if pod is not None and (not pod.alive or causes.lost(pod)):
        return f"; {name} {causes.worker(pod)}"
    return f"; {name}: {wait_causes.of_worker(snapshot, pod)}"


def _of_script(snapshot: Snapshot, scaler: Scaler, ran: ScriptRun) -> Step:
    said = f": {ran.last_lines.strip()}" if ran.last_lines.strip() else ""
    if ran.exit_code == 0:
        message = f"{scaler.script} succeeded{said}"
        status = statuses.script_succeeded(scaler.status, message, snapshot.now)
        return Step(status, statuses.SCRIPT_DONE, message)
    failures, tries = scaler.status.script_failures + 1, scaler.backoff_limit + 1
    late = f", as after its timeout of {scripts.seconds(scaler)} s" if ran.exit_code == scripts.TIMED_OUT else ""
    what = f"{scaler.script} exited with code {ran.exit_code}{late}"
    if failures >= tries:
        count = f", attempt {failures} of {tries}" if tries > 1 else ""
        return _failed(snapshot, scaler, Trigger.SCRIPT_GIVEN_UP, f"{what}{count}{said}")
    message = f"{what}, attempt {failures} of {tries}; it is run again{said}"
    status = statuses.script_failed(scaler.status, message, snapshot.now)
    return Step(status, "ScriptFailed", message, warns=True)


# Ends.


def _succeeded(snapshot: Snapshot, scaler: Scaler) -> Step:
    status = scaler.status
    pods = status.add_pods if scaler.adds else status.to_delete_pods
    what = "added" if scaler.adds else "removed"
    were = f": {_named(pods)} {'was' if len(pods) == 1 else 'were'} {what}" if pods else ""
    message = f"{_sizes(status.start_size, status.target_size)}{were}"
    reason = statuses.OUT_SUCCEEDED if scaler.adds else statuses.IN_SUCCEEDED
    return Step(statuses.succeeded(status, reason, message, snapshot.now), reason, message)


def _failed(snapshot: Snapshot, scaler: Scaler, trigger: Trigger, why: str) -> Step:
    reason = statuses.OUT_FAILED if scaler.adds else statuses.IN_FAILED
    return Step(statuses.failed(scaler.status, trigger, reason, why, snapshot.now), reason, why, warns=True)


def _sizes(start: int | None, target: int | None) -> str:
    return f"{start} → {target} workers"


def _workers(count: int) -> str:
    return "1 worker is" if count == 1 else f"{count} workers are"


def _named(names: Sequence[str]) -> str:
    first = ", ".join(names[:10])
    return first if len(names) <= 10 else f"{first} and {len(names) - 10} more"
