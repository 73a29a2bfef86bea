# SPDX-License-Identifier: Apache-2.0
"""Roles whose pods keep their names: each replica has a place, and whoever fails is made again in it.

The others know a replica by its name and its rank, so no other name would do. What has succeeded is remembered, because
a pod that is gone could no longer say so and would run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs import causes, launching, workers
from springtide.jobs.actions import Action, Create, Decision
from springtide.jobs.kind import Of, Replica
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import FAILED, SUCCEEDED, Pod
from springtide.jobs.situation import Situation

FIRST_SIGNAL: Final = 128
"""With policy ExitCode: from here on it was the system that ended the program, and it is tried again."""


def succeeded(situation: Situation) -> bool:
    rule = situation.shape.success
    if rule is None:
        return False
    names = [each.name for each in situation.fixed if each.role == rule.role]
    done = [name in situation.ledger.done or _has_succeeded(situation, name) for name in names]
    match rule.of:
        case Of.FIRST:
            return any(done[:1])
        case Of.ALL:
            return bool(done) and all(done)
        case Of.ANY:
            return any(done)


def _has_succeeded(situation: Situation, name: str) -> bool:
    pod = pods(situation).get(name)
    return pod is not None and pod.phase == SUCCEEDED


def pods(situation: Situation) -> Mapping[str, Pod]:
    """Those there are, by their names."""
    return {pod.name: pod for role in situation.shape.fixed for pod in situation.observed.of(role)}


def failures(situation: Situation) -> tuple[tuple[Replica, Pod], ...]:
    """Replicas whose failure has not been answered yet."""
    there = pods(situation)
    found = ((each, there[each.name]) for each in situation.fixed if each.name in there)
    return tuple((each, pod) for each, pod in found if _is_new(situation, pod))


def _is_new(situation: Situation, pod: Pod) -> bool:
    return (pod.phase == FAILED or causes.lost(pod)) and pod.uid not in situation.ledger.retried


def exhausted(situation: Situation, role: str, pod: Pod) -> bool:
    """No more tries, as with launchers; but what a role says of restarting comes before all counting."""
    if causes.shut_down(pod):
        return False
    if causes.disrupted(pod):
        return situation.ledger.disruptions >= workers.CAP
    policy, code = situation.job.roles[role].restart_policy, pod.exit.code if pod.exit else None
    if policy is RestartPolicy.NEVER:
        return True
    if policy is RestartPolicy.EXIT_CODE and code is not None and code < FIRST_SIGNAL:
        return True
    return situation.ledger.restarts >= situation.job.run.retries.by_engine


def answered(situation: Situation) -> tuple[Ledger, list[Decision]]:
    """With new failures counted and new successes remembered."""
    ledger, there = situation.ledger, pods(situation)
    if not situation.fixed:
        return ledger, []
    done = {*ledger.done, *(name for name, pod in there.items() if pod.phase == SUCCEEDED)}
    uids = {pod.uid for pod in there.values()}
    kept = tuple(uid for uid in ledger.retried if uid in uids)
    ledger, why = replace(ledger, done=tuple(sorted(done)), retried=kept), []
    for each, pod in failures(situation):
        ledger = _counted(ledger, each, pod, situation)
        message = f"{each.name} {causes.worker(pod)}; it is tried again"
        why.append(Decision(situation.now, "ReplicaRestarted", message, warning=True))
    return ledger, why


def _counted(ledger: Ledger, each: Replica, pod: Pod, situation: Situation) -> Ledger:
    ledger = replace(ledger, retried=(*ledger.retried, pod.uid), restarted_at=situation.now)
    if causes.shut_down(pod):
        return ledger
    disrupted = causes.disrupted(pod)
    return replace(
        ledger,
        tries={**ledger.tries, each.role: ledger.tries.get(each.role, 0) + 1},
        restarts=ledger.restarts + (not disrupted),
        disruptions=ledger.disruptions + disrupted,
    )


def created(situation: Situation) -> tuple[Action, ...]:
    there, job = pods(situation), situation.job
    missing = [each for each in situation.fixed if each.name not in there and each.name not in situation.ledger.done]
    first = () if there or not missing else situation.kind.warnings(job)
    made = (situation.kind.pod(job, each.role, each.index, situation.observed.settings) for each in missing)
    return (*(Create(manifest) for manifest in made), *first)


def removable(situation: Situation) -> tuple[Pod, ...]:
    """Who is to be made again, and who has no place any more. A failed pod stays until its time has come: so long its
    log can be read."""
    wanted, due = {each.name for each in situation.fixed}, launching.restart_left(situation) <= timedelta(0)
    there = pods(situation).values()
    return tuple(pod for pod in there if pod.name not in wanted or (due and pod.uid in situation.ledger.retried))
