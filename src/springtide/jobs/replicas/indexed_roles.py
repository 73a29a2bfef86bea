# SPDX-License-Identifier: Apache-2.0
"""Roles whose pods keep their names: each replica has a place, and whoever fails is made again in it.

The others know a replica by its name and its rank, so no other name would do. What has succeeded is remembered, because
a pod that is gone could no longer say so and would run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from springtide.jobs.actions import Action, Create, Decision
from springtide.jobs.endings import causes, outcomes
from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.kind import Replica
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import FAILED, SUCCEEDED, Pod
from springtide.jobs.policies import backoff_limit
from springtide.jobs.snapshot import Situation


def pods(situation: Situation) -> Mapping[str, Pod]:
    """Those there are, by their names."""
    return {pod.name: pod for role in situation.shape.fixed for pod in situation.observed.of(role)}


def has_succeeded(pod: Pod) -> bool:
    return pod.phase == SUCCEEDED and not pod.terminating


def failures(situation: Situation) -> tuple[tuple[Replica, Pod], ...]:
    """Replicas whose failure has not been answered yet."""
    there = pods(situation)
    found = ((each, there[each.name]) for each in situation.fixed if each.name in there)
    return tuple((each, pod) for each, pod in found if _is_new(situation, pod))


def _is_new(situation: Situation, pod: Pod) -> bool:
    """What a program says when it is told to end is neither failure nor success."""
    failed = (pod.phase == FAILED and not pod.terminating) or causes.lost(pod)
    return failed and pod.uid not in situation.ledger.retried


def failure(situation: Situation) -> Outcome | None:
    """That a replica has failed and is not tried again."""
    return _pod_failed(situation) or _restarted_too_often(situation)


def _pod_failed(situation: Situation) -> Outcome | None:
    found = ((each, pod) for each, pod in failures(situation) if backoff_limit.is_final(situation, each.role, pod))
    each, pod = next(found, (None, None))
    if each is None or pod is None:
        return None
    reason = f"{situation.job.kind}{'Evicted' if causes.evicted(pod) else 'Failed'}"
    message = f"{situation.title} has failed: {each.name} {causes.worker(pod)}"
    return outcomes.failure(situation, reason, outcomes.with_log(situation, message, pod))


def _restarted_too_often(situation: Situation) -> Outcome | None:
    """Pods that are restarted in place never fail by themselves."""
    limit, restarted = _limit(situation), restarted_in_place(situation)
    if not restarted or situation.ledger.retries + sum(times for _, _, times in restarted) <= limit:
        return None
    each, pod, _ = restarted[-1]
    why = f": {each.name} {causes.exited(pod.last_exit)}" if pod.last_exit is not None else ""
    message = f"{situation.title} has failed because it has reached the specified backoff limit ({limit}){why}"
    return outcomes.failure(situation, outcomes.BACKOFF_EXCEEDED, message)


def restarted_in_place(situation: Situation) -> tuple[tuple[Replica, Pod, int], ...]:
    """Replicas whose containers were restarted since that was last counted, and how often."""
    there = pods(situation)
    found = ((each, there[each.name]) for each in situation.fixed if each.name in there)
    times = ((each, pod, backoff_limit.restarted_in_place(situation, each.role, pod)) for each, pod in found)
    return tuple(each for each in times if each[2])


def answered(situation: Situation) -> tuple[Ledger, list[Decision]]:
    """With new failures counted and new successes remembered."""
    ledger, there = situation.ledger, pods(situation)
    if not situation.fixed:
        return ledger, []
    done = {*ledger.done, *(name for name, pod in there.items() if has_succeeded(pod))}
    uids = {pod.uid for pod in there.values()}
    kept = tuple(uid for uid in ledger.retried if uid in uids)
    in_place = {uid: times for uid, times in ledger.in_place.items() if uid in uids}
    ledger, why = replace(ledger, done=tuple(sorted(done)), retried=kept, in_place=in_place), []
    for each, pod, times in restarted_in_place(situation):
        ledger = _counted_in_place(ledger, each, pod, times)
        how = f" after it {causes.exited(pod.last_exit)}" if pod.last_exit is not None else ""
        message = f"{each.name} was restarted in place{how}; restart {ledger.retries} of {_limit(situation)}"
        why.append(Decision(situation.now, "ReplicaRestarted", message, warning=True))
    for each, pod in failures(situation):
        ledger = _counted(ledger, each, pod, situation)
        message = f"{each.name} {causes.worker(pod)}; it is tried again"
        why.append(Decision(situation.now, "ReplicaRestarted", message, warning=True))
    return ledger, why


def _counted(ledger: Ledger, each: Replica, pod: Pod, situation: Situation) -> Ledger:
    ledger = replace(backoff_limit.counted(ledger, pod, situation.now), retried=(*ledger.retried, pod.uid))
    if causes.shut_down(pod):
        return ledger
    return replace(ledger, tries={**ledger.tries, each.role: ledger.tries.get(each.role, 0) + 1})


def _counted_in_place(ledger: Ledger, each: Replica, pod: Pod, times: int) -> Ledger:
    return replace(
        ledger,
        restarts_in_place=ledger.restarts_in_place + times,
        tries={**ledger.tries, each.role: ledger.tries.get(each.role, 0) + times},
        in_place={**ledger.in_place, pod.uid: pod.restarts},
    )


def _limit(situation: Situation) -> int:
    return situation.job.run.retries.by_engine


def created(situation: Situation) -> tuple[Action, ...]:
    there, job = pods(situation), situation.job
    missing = [each for each in situation.fixed if each.name not in there and each.name not in situation.ledger.done]
    first = () if there or not missing else situation.kind.warnings(job)
    made = (situation.kind.pod(job, each.role, each.index, situation.observed.settings) for each in missing)
    return (*(Create(manifest) for manifest in made), *first)


def removable(situation: Situation) -> tuple[Pod, ...]:
    """Who is to be made again, and who has no place any more. A failed pod stays until its time has come: so long its
    log can be read."""
    wanted, due = {each.name for each in situation.fixed}, backoff_limit.restart_left(situation) <= timedelta(0)
    there = pods(situation).values()
    return tuple(pod for pod in there if pod.name not in wanted or (due and pod.uid in situation.ledger.retried))
