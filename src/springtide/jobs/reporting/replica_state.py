# SPDX-License-Identifier: Apache-2.0
"""The state of a job whose replicas keep their names: of all its roles, and of the replica that the others wait for."""

from __future__ import annotations

from collections.abc import Iterable

from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import holds
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs.endings import causes
from springtide.jobs.kind import Replica
from springtide.jobs.observed import Pod
from springtide.jobs.policies import force_delete
from springtide.jobs.replicas import deferring, indexed_roles
from springtide.jobs.reporting import deliberate_waits, wait_causes
from springtide.jobs.reporting.conditions import Conditions
from springtide.jobs.reporting.state_name import State, StateName
from springtide.jobs.snapshot import Snapshot

_NAMED = 3
"""The most replicas that a text names."""


def state(snapshot: Snapshot, conditions: Conditions, cause: str) -> State:
    """Of a job that has neither finished nor is suspended. `cause` states what pods of the job wait for."""
    if crashed := _crashed(snapshot):
        return State(StateName.RESTARTING, cause or crashed)
    if lost := [pod for pod in _pods(snapshot).values() if causes.lost(pod)]:
        name = StateName.RUNNING if snapshot.runs else StateName.RESTARTING
        return State(name, _sentence(force_delete.explained(snapshot, lost[0])))
    return _working(snapshot, cause) if snapshot.runs else _not_yet(snapshot, conditions, cause)


def run_on(snapshot: Snapshot) -> str:
    """What to know about replicas of a finished job that have not ended, such as parameter servers."""
    alive = [pod.name for pod in _pods(snapshot).values() if pod.alive]
    if not alive or snapshot.job.run.clean_pod_policy is not CleanPodPolicy.NONE:
        return ""
    runs = "still runs" if len(alive) == 1 else "still run"
    job = f"{snapshot.job.kind.lower()} {snapshot.job.metadata.name} -n {snapshot.job.metadata.namespace}"
    return f"{_names(alive)} {runs}, because cleanPodPolicy is None; to end it: kubectl delete {job}"


def _crashed(snapshot: Snapshot) -> str:
    """A replica whose container was restarted a moment ago, or is in back-off."""
    for pod in _pods(snapshot).values():
        ended, recent = pod.last_exit, snapshot.since(pod.started) < wait_causes.STEADY
        if pod.alive and pod.restarts and ended is not None and ended.code and (recent or not pod.ready):
            limit = snapshot.job.run.retries.by_engine
            text = f"{pod.name} {causes.exited(ended)}; it was restarted, restart {pod.restarts} of {limit}"
            return _sentence("; ".join(filter(None, (text, snapshot.kind.advice(snapshot.job, ended)))))
    return ""


def _working(snapshot: Snapshot, cause: str) -> State:
    if differs := deferring.explained(snapshot):
        return State(StateName.RUNNING, _with(differs, cause))
    leaving = [each.name for each in snapshot.leaving]
    if leaving and snapshot.sizes.elastic:
        one = len(leaving) == 1
        ends = "is terminating within its grace period" if one else "are terminating within their grace periods"
        return State(StateName.SCALING_IN, f"{_names(leaving)} {ends}.")
    missing, done = _missing(snapshot), len(snapshot.ledger.done)
    if not missing:
        succeeded = f"; {done} of {len(snapshot.fixed)} replicas {_has(done)} succeeded" if done else ""
        return State(StateName.RUNNING, _with(f"The job runs with {_crew(snapshot.fixed)}{succeeded}", cause))
    grows = snapshot.sizes.elastic and any(each.role == snapshot.shape.workers for each in missing)
    if grows:
        workers = [each for each in snapshot.fixed if each.role == snapshot.shape.workers]
        ready = len(workers) - sum(each.role == snapshot.shape.workers for each in missing)
        return State(StateName.SCALING_OUT, _with(f"{_of(ready, len(workers), 'workers')} ready", cause))
    return State(StateName.RUNNING, _with(f"The job runs; {_not_ready(missing)} ready", cause))


def _not_yet(snapshot: Snapshot, conditions: Conditions, cause: str) -> State:
    there, missing, total = _pods(snapshot), _missing(snapshot), len(snapshot.fixed)
    ready = f"{_of(total - len(missing), total, 'replicas')} ready"
    if holds(conditions, types.RESTARTING):
        again = deliberate_waits.restarting(snapshot) or f"The job is tried again; {ready}"
        return State(StateName.RESTARTING, _with(again, cause))
    if not there:
        return State(StateName.CREATED, "The job has been accepted.")
    unplaced = sum(pod.alive and not pod.node for pod in there.values())
    if unplaced:
        return State(StateName.QUEUED, cause or f"{_of(unplaced, total, 'replicas')} waiting for a place on a node.")
    return State(StateName.STARTING, _with(f"{ready}; {_not_ready(missing)}" if missing else ready, cause))


def _pods(snapshot: Snapshot) -> dict[str, Pod]:
    there = indexed_roles.pods(snapshot)
    return {each.name: there[each.name] for each in snapshot.fixed if each.name in there}


def _missing(snapshot: Snapshot) -> list[Replica]:
    """Replicas that neither run nor have succeeded."""
    there, done = _pods(snapshot), set(snapshot.ledger.done)
    left = [each for each in snapshot.fixed if each.name not in done]
    return [each for each in left if each.name not in there or not there[each.name].serves]


def _not_ready(missing: list[Replica]) -> str:
    """The first ones: the others may wait for them."""
    names = [each.name for each in missing]
    return f"{_names(names)} {'is' if len(names) == 1 else 'are'} not"


def _crew(replicas: Iterable[Replica]) -> str:
    counts: dict[str, int] = {}
    for each in replicas:
        counts[each.role] = counts.get(each.role, 0) + 1
    named = [_count(role, count) for role, count in counts.items()]
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))


def _count(role: str, count: int) -> str:
    return f"{count} {role}" if role != "Worker" else "1 worker" if count == 1 else f"{count} workers"


def _of(count: int, total: int, what: str) -> str:
    return f"{count} of {total} {what} {'is' if count == 1 else 'are'}"


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _with(what: str, cause: str) -> str:
    return f"{what}. {cause}" if cause else _sentence(what)


def _sentence(text: str) -> str:
    """Without a full stop behind a command, which users copy to the end of the line."""
    return text if wait_causes.ends_in_command(text) else f"{text}."
