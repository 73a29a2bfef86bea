# SPDX-License-Identifier: Apache-2.0
"""How a job ends, what is left of it, and what becomes of it while it is suspended.

The outcome is written to the status before anything is cleaned up: a launcher that is gone can no longer say how it
ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from springtide.api.kinds import conditions
from springtide.api.kinds.conditions import condition
from springtide.api.kinds.mpi_modes import LauncherForm
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs import causes, fixed, launching, objects, wait_causes, workers
from springtide.jobs.actions import Action, Delete, Patch
from springtide.jobs.observed import PLACING, SUCCEEDED, Key, LauncherJob, Pod
from springtide.jobs.situation import Situation

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
BACKOFF_EXCEEDED: Final = "BackoffLimitExceeded"
NEVER: Final = timedelta.max
_CENTURY: Final = timedelta(days=36500)
"""A deadline is a number of 64 bits, and no calendar holds that many seconds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    succeeded: bool
    reason: str
    message: str
    at: datetime


def outcome(situation: Situation) -> Outcome | None:
    """The first that applies."""
    found = (ending(situation) for ending in ENDINGS)
    return next((each for each in found if each is not None), None)


def _succeeded(situation: Situation) -> Outcome | None:
    pod, batch = situation.launcher, situation.observed.launcher_job
    if situation.shape.form is LauncherForm.BATCH_JOB:
        done, at = batch is not None and batch.succeeded, batch.completed if batch else None
    else:
        stopped = situation.job.run.suspend and pod is not None and pod.terminating
        done, at = (pod is not None and pod.phase == SUCCEEDED and not stopped) or fixed.succeeded(situation), None
    message = f"{situation.title} successfully completed."
    return Outcome(True, f"{situation.job.kind}Succeeded", message, at or situation.now) if done else None


def _batch_job_failed(situation: Situation) -> Outcome | None:
    batch = situation.observed.launcher_job
    if batch is None or not batch.failed:
        return None
    last = launching.last_ended(situation)
    reason = batch.reason or f"{situation.job.kind}Failed"
    message = batch.message or f"{situation.title} has failed"
    if last is not None:
        reason = f"{reason}/{last.reason}" if reason == BACKOFF_EXCEEDED else reason
        said = last.message or causes.ending(last)
        message = _with_log(situation, f"{message}: {said}" if said else message, last)
    return _failure(situation, reason, message)


def _launcher_disrupted(situation: Situation) -> Outcome | None:
    """A batch Job makes launchers anew that were taken down, without counting them."""
    if situation.shape.form is not LauncherForm.BATCH_JOB:
        return None
    pods = [pod for pod in situation.observed.of(situation.shape.launcher) if pod.ended and causes.disrupted(pod)]
    taken = [pod for pod in pods if not causes.shut_down(pod)]
    if len(taken) <= workers.CAP:
        return None
    last, kind = taken[-1], situation.job.kind
    message = f"{situation.title} has failed: launcher {last.name}, like {workers.CAP} before it, {causes.worker(last)}"
    return _failure(situation, f"{kind}{'Evicted' if causes.evicted(last) else 'Failed'}", message)


def _launcher_failed(situation: Situation) -> Outcome | None:
    pod = launching.failed(situation)
    if pod is None or not launching.exhausted(situation, pod):
        return None
    kind = situation.job.kind
    reason = f"{kind}Evicted" if causes.evicted(pod) else pod.reason or f"{kind}Failed"
    why = causes.ending(pod) or pod.message
    message = f"{situation.title} has failed" + (f": launcher {why}" if why else "")
    return _failure(situation, reason, _with_log(situation, message, pod))


def _replica_failed(situation: Situation) -> Outcome | None:
    found = ((each, pod) for each, pod in fixed.failures(situation) if fixed.exhausted(situation, each.role, pod))
    each, pod = next(found, (None, None))
    if each is None or pod is None:
        return None
    reason = f"{situation.job.kind}{'Evicted' if causes.evicted(pod) else 'Failed'}"
    message = f"{situation.title} has failed: {each.name} {causes.worker(pod)}"
    return _failure(situation, reason, _with_log(situation, message, pod))


def _deadline_passed(situation: Situation) -> Outcome | None:
    if deadline_left(situation) > timedelta(0):
        return None
    seconds = situation.job.run.active_deadline_seconds
    message = f"{situation.title} has failed because it was active longer than specified deadline ({seconds} s)"
    return _failure(situation, DEADLINE_EXCEEDED, message)


def _workers_used_up(situation: Situation) -> Outcome | None:
    lost = workers.losses(situation)
    last = next((loss for loss in lost if workers.in_a_row(situation, loss) > workers.CAP), None)
    if last is None:
        return None
    kind, evicted = situation.job.kind, sum(loss.evicted for loss in lost)
    if evicted:
        return _failure(situation, f"{kind}Evicted", f"{evicted}/{situation.wanted_size} workers are evicted")
    name = situation.worker_name(last.index)
    message = f"{situation.title} has failed: {name}, like {workers.CAP} before it in its place, {last.cause}"
    return _failure(situation, f"{kind}Failed", message)


def _with_log(situation: Situation, message: str, pod: Pod) -> str:
    """Where the rest of what a program said is, if it ran, if its pod stays, and unless a command is named already."""
    stays = situation.job.run.clean_pod_policy is not CleanPodPolicy.ALL and not causes.disrupted(pod)
    if not stays or pod.exit is None or wait_causes.names_command(message):
        return message
    return f"{message}; see kubectl logs {pod.name} -n {situation.job.metadata.namespace}"


def _failure(situation: Situation, reason: str, message: str) -> Outcome:
    return Outcome(False, reason, message, situation.now)


ENDINGS: Final[tuple[Callable[[Situation], Outcome | None], ...]] = (
    _succeeded,
    _batch_job_failed,
    _launcher_disrupted,
    _launcher_failed,
    _replica_failed,
    _deadline_passed,
    _workers_used_up,
)


def deadline_left(situation: Situation) -> timedelta:
    """A batch Job keeps the deadline by itself."""
    seconds, start = situation.job.run.active_deadline_seconds, situation.job.status.start_time
    if seconds is None or start is None or situation.job.run.suspend or situation.shape.form is LauncherForm.BATCH_JOB:
        return NEVER
    if seconds > _CENTURY.total_seconds():
        return NEVER
    return start + timedelta(seconds=seconds) - situation.now


def cleaned(situation: Situation) -> tuple[Action, ...]:
    """What goes when the job has finished: all pods, or those workers that have not ended, or none. The launcher and
    its batch Job stay to be looked at unless everything goes. A job that was cut short is stopped under every policy;
    a launcher goes last, so that a cleaning that was interrupted is taken up again."""
    policy = situation.job.run.clean_pod_policy
    if policy is CleanPodPolicy.NONE and not _cut_short(situation):
        return ()
    everything = policy is CleanPodPolicy.ALL
    pods = tuple(pod for pod in situation.replicas if everything or not pod.ended)
    launcher = (everything or _launcher_goes_on(situation)) and _launcher(situation)
    return (*deletes(pods), *(launcher or ()))


def _cut_short(situation: Situation) -> bool:
    """It did not come to an end by itself."""
    failed = condition(situation.job.status.conditions, conditions.FAILED)
    overdue = failed is not None and (failed.status, failed.reason) == ("True", DEADLINE_EXCEEDED)
    return overdue or _launcher_goes_on(situation)


def _launcher_goes_on(situation: Situation) -> bool:
    """Nobody else ends it. A batch Job that has finished ends its pod by itself, and is seen to finish before that."""
    batch = situation.observed.launcher_job
    if situation.shape.form is LauncherForm.BATCH_JOB:
        return batch is not None and not (batch.succeeded or batch.failed)
    return situation.launcher_lives


def _launcher(situation: Situation) -> tuple[Action, ...]:
    batch = situation.observed.launcher_job
    if situation.shape.form is LauncherForm.BATCH_JOB:
        gone = batch is None or batch.terminating
        return () if gone or batch is None else (Delete(_batch_key(situation), batch.uid),)
    return deletes((situation.launcher,) if situation.launcher else ())


def frees_group(situation: Situation) -> bool:
    """Whether the PodGroup goes with the pods; with None it stays, and so does what it holds."""
    return situation.job.run.clean_pod_policy is not CleanPodPolicy.NONE


def time_to_live(situation: Situation) -> timedelta:
    """How long the finished job may still be there."""
    seconds, end = situation.job.run.ttl_seconds_after_finished, situation.job.status.completion_time
    return NEVER if seconds is None or end is None else end + timedelta(seconds=seconds) - situation.now


def deletes_job(situation: Situation) -> Delete:
    job = situation.job
    return Delete(Key(job.api_version, job.kind, job.metadata.name), job.metadata.uid)


def stopped(situation: Situation) -> tuple[Action, ...]:
    """While it is suspended a job has no pods; of policy Running those that have ended are kept. Workers go last where
    a launcher writes a checkpoint before it ends."""
    keeps_ended = situation.job.run.clean_pod_policy is CleanPodPolicy.RUNNING
    idle = () if launching.may_save(situation) else situation.replicas
    pods = deletes(tuple(pod for pod in idle if not (keeps_ended and pod.ended)))
    if situation.shape.form is LauncherForm.POD:
        return (*deletes((situation.launcher,) if situation.launcher else ()), *pods)
    return (*switched(situation), *pods, *deletes(launching.deleted(situation)))


def switched(situation: Situation) -> tuple[Action, ...]:
    """A launcher Job is suspended with its job, and resumed when a launcher might be created."""
    batch, suspend = situation.observed.launcher_job, situation.job.run.suspend
    if batch is None or batch.suspended == suspend:
        return ()
    if not suspend and (_being_relocated(situation) or not launching.may_be_created(situation)):
        return ()
    template = {} if suspend else placed(batch, situation.kind.launcher(situation.job, situation.observed.settings))
    return (Patch(_batch_key(situation), {"spec": {"suspend": suspend, **template}}, uid=batch.uid),)


def _being_relocated(situation: Situation) -> bool:
    relocated, pods = situation.ledger.relocated, situation.observed.of(situation.shape.launcher)
    return any(pod.uid == relocated and not pod.ended for pod in pods)


def placed(batch: LauncherJob, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A queue that admits a job says by its template where its pods go. Labels and annotations of others stay. A
    template that must not be changed, because the Job has started before, is left as it is."""
    if batch.started is not None:
        return {}
    template: dict[str, dict[str, Any]] = {}
    for part, names in PLACING.items():
        for name in names:
            there, new = (batch.template.get(part) or {}).get(name), wanted["spec"]["template"][part].get(name)
            new = objects.merging(there, new) if part == "spec" else new
            if not objects.covers(there, new):
                template.setdefault(part, {})[name] = new
    return {"template": template} if template else {}


def _batch_key(situation: Situation) -> Key:
    return Key("batch/v1", "Job", situation.shape.launcher_name)


def deletes(pods: tuple[Pod, ...]) -> tuple[Action, ...]:
    """One whose node is silent would stay for ever."""
    return tuple(
        Delete(Key("v1", "Pod", pod.name), pod.uid, grace=0 if causes.lost(pod) else None)
        for pod in pods
        if not pod.terminating or causes.lost(pod)
    )
