# SPDX-License-Identifier: Apache-2.0
"""Roles whose pods keep their names: a failed replica is created again under the same name.

Other replicas know it by its name and rank. Successes are recorded in the ledger, because a deleted pod no longer shows
its success and would be created again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.status import ReplicaStatus
from springtide.jobs.actions import Action, Create, Decision
from springtide.jobs.endings import causes, outcomes
from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.kind import Replica
from springtide.jobs.ledger import Ledger, token
from springtide.jobs.observed import FAILED, SUCCEEDED, Exit, Pod
from springtide.jobs.policies import backoff_limit, force_delete, whole_job_restart
from springtide.jobs.snapshot import Snapshot

_NAMED: Final = 3
"""The most replicas that a message names."""


def pods(snapshot: Snapshot) -> Mapping[str, Pod]:
    """The existing pods, by name."""
    return {pod.name: pod for role in snapshot.shape.fixed for pod in snapshot.observed.of(role)}


def has_succeeded(pod: Pod) -> bool:
    return pod.phase == SUCCEEDED and not pod.terminating


def failures(snapshot: Snapshot) -> tuple[tuple[Replica, Pod], ...]:
    """Replicas whose failure has not been counted yet."""
    there = pods(snapshot)
    found = ((each, there[each.name]) for each in snapshot.fixed if each.name in there)
    return tuple((each, pod) for each, pod in found if _is_new(snapshot, pod))


def _is_new(snapshot: Snapshot, pod: Pod) -> bool:
    """The exit code of a program after SIGTERM is neither failure nor success."""
    failed = (pod.phase == FAILED and not pod.terminating) or force_delete.given_up(snapshot, pod)
    return failed and not snapshot.ledger.has_retried(pod)


def failure(snapshot: Snapshot) -> Outcome | None:
    """The outcome if a replica has failed and is not retried."""
    return _pod_failed(snapshot) or _restarted_too_often(snapshot)


def _pod_failed(snapshot: Snapshot) -> Outcome | None:
    final = ((each, pod) for each, pod in failures(snapshot) if backoff_limit.is_final(snapshot, each.role, pod))
    found = ((each, pod) for each, pod in final if not _is_spared(snapshot, each.role))
    each, pod = next(found, (None, None))
    if each is None or pod is None:
        return None
    reason = f"{snapshot.job.kind}{'Evicted' if causes.evicted(pod) else 'Failed'}"
    message = f"{snapshot.title} has failed: {each.name} {causes.worker(pod)}{_advice(snapshot, pod.exit)}"
    return outcomes.failure(snapshot, reason, outcomes.with_log(snapshot, message, pod))


def _is_spared(snapshot: Snapshot, role: str) -> bool:
    """Whether the role may lose replicas that are never restarted, and another one is left."""
    if role not in snapshot.shape.expendable or snapshot.job.roles[role].restart_policy is not RestartPolicy.NEVER:
        return False
    there = pods(snapshot)
    left = (there.get(each.name) for each in snapshot.fixed if each.role == role)
    return any(pod is None or pod.phase != FAILED for pod in left)


def _restarted_too_often(snapshot: Snapshot) -> Outcome | None:
    """Pods that are restarted in place never reach the phase Failed."""
    limit, restarted = _limit(snapshot), restarted_in_place(snapshot)
    if not restarted or snapshot.ledger.retries + sum(times for _, _, times in restarted) <= limit:
        return None
    each, pod, _ = restarted[-1]
    ended = pod.last_exit
    why = f": {each.name} {causes.exited(ended)}{_advice(snapshot, ended)}" if ended is not None else ""
    message = f"{snapshot.title} has failed because it has reached the specified backoff limit ({limit}){why}"
    return outcomes.failure(snapshot, outcomes.BACKOFF_EXCEEDED, message)


def _advice(snapshot: Snapshot, ended: Exit | None) -> str:
    said = snapshot.kind.advice(snapshot.job, ended) if ended is not None else ""
    return f"; {said}" if said else ""


def restarted_in_place(snapshot: Snapshot) -> tuple[tuple[Replica, Pod, int], ...]:
    """Replicas with container restarts that are not counted yet, and their number."""
    there = pods(snapshot)
    found = ((each, there[each.name]) for each in snapshot.fixed if each.name in there)
    times = ((each, pod, backoff_limit.restarted_in_place(snapshot, each.role, pod)) for each, pod in found)
    return tuple(each for each in times if each[2])


def answered(snapshot: Snapshot) -> tuple[Ledger, list[Decision]]:
    """The ledger with new failures counted and new successes recorded. Successes outside the job's size are forgotten:
    if the job grows again, these replicas are new ones."""
    ledger, there = snapshot.ledger, pods(snapshot)
    if not snapshot.fixed:
        return ledger, []
    succeeded = (name for name, pod in there.items() if has_succeeded(pod) and not ledger.has_retried(pod))
    done = {*ledger.done, *succeeded} & {each.name for each in snapshot.fixed}
    tokens = {token(pod.uid) for pod in there.values()}
    kept = tuple(each for each in ledger.retried if each in tokens)
    in_place = {each: times for each, times in ledger.in_place.items() if each in tokens}
    ledger, why = replace(ledger, done=tuple(sorted(done)), retried=kept, in_place=in_place), []
    for each, pod, times in restarted_in_place(snapshot):
        ledger = _counted_in_place(ledger, each, pod, times)
        how = f" after it {causes.exited(pod.last_exit)}" if pod.last_exit is not None else ""
        message = f"{each.name} was restarted in place{how}; restart {ledger.retries} of {_limit(snapshot)}"
        why.append(Decision(snapshot.now, "ReplicaRestarted", message, warning=True))
    for each, pod in failures(snapshot):
        if backoff_limit.is_final(snapshot, each.role, pod):
            continue  # the pod stays, and its job goes on without it
        ledger = _counted(ledger, each, pod, snapshot)
        message = f"{each.name} {causes.worker(pod)}; it is tried again"
        why.append(Decision(snapshot.now, "ReplicaRestarted", message, warning=True))
    ledger, whole = whole_job_restart.answered(snapshot, ledger, there)
    return ledger, whole or [*why, *_replaced(snapshot)]


def _replaced(snapshot: Snapshot) -> list[Decision]:
    """The decision about replicas that others have deleted: they run again, without counting as failures. The status
    still counts them; this plan's status no longer does, so they are reported once."""
    there = pods(snapshot)
    if not set(snapshot.ledger.retried) <= {token(pod.uid) for pod in there.values()}:
        return []  # those were deleted by the operator
    known = {*there, *snapshot.ledger.done, *snapshot.ledger.moved}
    names: list[str] = []
    for role in snapshot.shape.fixed:
        counted = snapshot.job.status.replica_statuses.get(role, ReplicaStatus())
        lost = counted.active + counted.succeeded + counted.failed - len(snapshot.observed.of(role))
        missing = [each.name for each in snapshot.fixed if each.role == role and each.name not in known]
        names += missing[: max(lost, 0)]
    if not names:
        return []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    were = "was deleted; it is" if len(names) == 1 else "were deleted; they are"
    message = f"{', '.join(names[:_NAMED])}{more} {were} created again"
    return [Decision(snapshot.now, "ReplicaReplaced", message)]


def _counted(ledger: Ledger, each: Replica, pod: Pod, snapshot: Snapshot) -> Ledger:
    ledger = replace(backoff_limit.counted(snapshot, ledger, pod), retried=(*ledger.retried, token(pod.uid)))
    if causes.shut_down(pod):
        return ledger
    return replace(ledger, tries={**ledger.tries, each.role: ledger.tries.get(each.role, 0) + 1})


def _counted_in_place(ledger: Ledger, each: Replica, pod: Pod, times: int) -> Ledger:
    return replace(
        ledger,
        restarts_in_place=ledger.restarts_in_place + times,
        tries={**ledger.tries, each.role: ledger.tries.get(each.role, 0) + times},
        in_place={**ledger.in_place, token(pod.uid): pod.restarts},
    )


def _limit(snapshot: Snapshot) -> int:
    return snapshot.job.run.retries.by_engine


def created(snapshot: Snapshot, most: int) -> tuple[Action, ...]:
    """At most so many pods: those that are created cause the next plan."""
    there, job = pods(snapshot), snapshot.job
    missing = [each for each in snapshot.fixed if each.name not in there and each.name not in snapshot.ledger.done]
    if not missing or whole_job_restart.waits(snapshot):
        return ()
    first = () if there else snapshot.kind.warnings(job)
    sized = snapshot.sized_job
    made = (snapshot.kind.pod(sized, each.role, each.index, snapshot.observed.settings) for each in missing[:most])
    return (*(Create(manifest) for manifest in made), *first)


def removable(snapshot: Snapshot) -> tuple[Pod, ...]:
    """Pods that are created again, and pods outside the job's size. A failed pod is kept until its back-off is over: so
    long its log can be read. On a node that does not respond no pod is deleted before it is evicted."""
    wanted, due = {each.name for each in snapshot.fixed}, backoff_limit.restart_left(snapshot) <= timedelta(0)
    there = (pod for pod in pods(snapshot).values() if not force_delete.left_alone(snapshot, pod))
    return tuple(
        pod
        for pod in there
        if pod.name not in wanted
        or (due and snapshot.ledger.has_retried(pod))
        or whole_job_restart.leaves(snapshot, pod)
    )
