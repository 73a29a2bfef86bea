# SPDX-License-Identifier: Apache-2.0
"""How a job ends, what is left of it, and what becomes of it while it is suspended.

The outcome is written to the status before anything is cleaned up: a launcher that is gone can no longer say how it
ended.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from springtide.api.kinds import conditions
from springtide.api.kinds.conditions import condition
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs import causes, fixed, launching, workers
from springtide.jobs.actions import Action, Delete
from springtide.jobs.objects import deletions
from springtide.jobs.observed import Key
from springtide.jobs.outcomes import DEADLINE_EXCEEDED, Outcome, failure, with_log
from springtide.jobs.situation import Situation

NEVER: Final = timedelta.max
_CENTURY: Final = timedelta(days=36500)
"""A deadline is a number of 64 bits, and no calendar holds that many seconds."""


def outcome(situation: Situation) -> Outcome | None:
    """The first that applies."""
    found = (ending(situation) for ending in ENDINGS)
    return next((each for each in found if each is not None), None)


def _succeeded(situation: Situation) -> Outcome | None:
    at = situation.form.completed(situation)
    if at is None and not fixed.succeeded(situation):
        return None
    message = f"{situation.title} successfully completed."
    return Outcome(True, f"{situation.job.kind}Succeeded", message, at or situation.now)


def _launcher_failed(situation: Situation) -> Outcome | None:
    return situation.form.failure(situation)


def _replica_failed(situation: Situation) -> Outcome | None:
    found = ((each, pod) for each, pod in fixed.failures(situation) if fixed.exhausted(situation, each.role, pod))
    each, pod = next(found, (None, None))
    if each is None or pod is None:
        return None
    reason = f"{situation.job.kind}{'Evicted' if causes.evicted(pod) else 'Failed'}"
    message = f"{situation.title} has failed: {each.name} {causes.worker(pod)}"
    return failure(situation, reason, with_log(situation, message, pod))


def _deadline_passed(situation: Situation) -> Outcome | None:
    if deadline_left(situation) > timedelta(0):
        return None
    seconds = situation.job.run.active_deadline_seconds
    message = f"{situation.title} has failed because it was active longer than specified deadline ({seconds} s)"
    return failure(situation, DEADLINE_EXCEEDED, message)


def _workers_used_up(situation: Situation) -> Outcome | None:
    lost = workers.losses(situation)
    last = next((loss for loss in lost if workers.in_a_row(situation, loss) > workers.CAP), None)
    if last is None:
        return None
    kind, evicted = situation.job.kind, sum(loss.evicted for loss in lost)
    if evicted:
        return failure(situation, f"{kind}Evicted", f"{evicted}/{situation.wanted_size} workers are evicted")
    name = situation.worker_name(last.index)
    message = f"{situation.title} has failed: {name}, like {workers.CAP} before it in its place, {last.cause}"
    return failure(situation, f"{kind}Failed", message)


ENDINGS: Final[tuple[Callable[[Situation], Outcome | None], ...]] = (
    _succeeded,
    _launcher_failed,
    _replica_failed,
    _deadline_passed,
    _workers_used_up,
)


def deadline_left(situation: Situation) -> timedelta:
    """A batch Job keeps the deadline by itself."""
    seconds, start = situation.job.run.active_deadline_seconds, situation.job.status.start_time
    if seconds is None or start is None or situation.job.run.suspend or situation.form.in_batch_job:
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
    launcher = everything or situation.form.goes_on(situation)
    return (*deletions(pods), *(situation.form.removed(situation) if launcher else ()))


def _cut_short(situation: Situation) -> bool:
    """It did not come to an end by itself."""
    failed = condition(situation.job.status.conditions, conditions.FAILED)
    overdue = failed is not None and (failed.status, failed.reason) == ("True", DEADLINE_EXCEEDED)
    return overdue or situation.form.goes_on(situation)


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
    pods = deletions(tuple(pod for pod in idle if not (keeps_ended and pod.ended)))
    return situation.form.stopped(situation, pods)
