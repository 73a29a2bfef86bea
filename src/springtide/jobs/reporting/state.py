# SPDX-License-Identifier: Apache-2.0
"""The state of a job in one word, and its explanation in one sentence.

The word is `.status.state`, which `kubectl get mpijob` prints as STATE, the sentence `.status.explanation`. All
commands show these two and no others. Each function is a chain of cases; the first that applies counts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import condition, holds
from springtide.jobs.launchers import launching
from springtide.jobs.observed import RUNNING
from springtide.jobs.replicas import deferring
from springtide.jobs.reporting import deliberate_waits, progress, rank_changes
from springtide.jobs.reporting.conditions import Conditions
from springtide.jobs.snapshot import Situation


class Word(StrEnum):
    CREATED = "Created"
    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    SCALING_OUT = "Scaling out"
    SCALING_IN = "Scaling in"
    SUSPENDED = "Suspended"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class State(NamedTuple):
    word: Word
    sentence: str


def state(situation: Situation, conditions: Conditions, cause: str = "") -> State:
    """`cause` is the sentence on what pods of the job wait for, if they do."""
    ended = _ended(situation, conditions)
    if ended is not None:
        return ended
    return _working(situation, cause) if situation.runs else _not_yet(situation, conditions, cause)


def _ended(situation: Situation, conditions: Conditions) -> State | None:
    for type_, word in ((types.SUCCEEDED, Word.SUCCEEDED), (types.FAILED, Word.FAILED)):
        found = condition(conditions, type_)
        if found is not None and found.status == "True":
            return State(word, found.message)
    if situation.job.run.suspend:
        return State(Word.SUSPENDED, "The job is suspended and has no pods.")
    return None


def _working(situation: Situation, cause: str) -> State:
    ready, wanted, listed = len(launching.ready(situation)), situation.wanted_size, len(situation.ledger.listed)
    least = situation.sizes.bounds.min if situation.sizes.bounds else 0
    if ready < least:
        needs = f"The job waits: {_workers(ready)} ready, and it needs at least {least}"
        return State(Word.RUNNING, _with(needs, situation, cause))
    if differs := deferring.explained(situation):
        return State(Word.RUNNING, _with(differs, situation, cause))
    if situation.ledger.draining:
        return State(Word.SCALING_IN, f"{deliberate_waits.draining(situation)}.")
    if differs := rank_changes.explained(situation):
        grows = listed < wanted or not progress.of(situation.launcher).waits
        return State(Word.SCALING_OUT if grows else Word.RUNNING, _with(differs, situation, cause))
    if situation.shape.keeps_names and situation.sizes.elastic:
        return _in_place(situation, ready, wanted, cause)
    if listed < wanted and situation.sizes.elastic:
        return State(Word.SCALING_OUT, _with(f"{_of(listed, wanted)} in the host list", situation, cause))
    return _running(situation, ready, wanted, cause)


def _in_place(situation: Situation, ready: int, wanted: int, cause: str) -> State:
    """Of a job whose workers keep their names, and that follows its size."""
    leaving = [each.index for each in situation.leaving if each.role == situation.shape.workers]
    if leaving:
        one = len(leaving) == 1
        has = "was told to end and has" if one else "were told to end and have"
        grace = "its pod's grace period" if one else "the grace periods of their pods"
        return State(Word.SCALING_IN, f"{situation.worker_names(leaving)} {has} {grace} to do so.")
    if ready < wanted:
        return State(Word.SCALING_OUT, _with(f"{_of(ready, wanted)} ready", situation, cause))
    return _running(situation, ready, wanted, cause)


def _running(situation: Situation, ready: int, wanted: int, cause: str) -> State:
    runs = (
        f"The job runs with {_workers(ready)}" if ready >= wanted else f"The job runs with {ready} of {wanted} workers"
    )
    return State(Word.RUNNING, _with(runs, situation, cause))


def _with(what: str, situation: Situation, cause: str) -> str:
    """And why it is not more: what others have to do something about, or what is waited for on purpose."""
    if cause:
        return f"{what}. {cause}"
    waits = deliberate_waits.settling(situation) or deliberate_waits.replacing(situation)
    return f"{what}; {waits}." if waits else f"{what}."


def _not_yet(situation: Situation, conditions: Conditions, cause: str) -> State:
    if any(pod.terminating and not pod.ended for pod in situation.observed.of(situation.shape.launcher)):
        return State(Word.RESTARTING, "The launcher was told to end; another one starts when it has.")
    ready, wanted = len(launching.ready(situation)), situation.wanted_size
    if holds(conditions, types.RESTARTING):
        again = (
            deliberate_waits.restarting(situation) or f"The job is tried again; {ready} of {wanted} workers are ready"
        )
        return State(Word.RESTARTING, _with(again, situation, cause))
    members = [situation.workers.get(index) for index in situation.members]
    unplaced = sum(pod is not None and not pod.node for pod in members)
    if not members and not situation.fixed and not situation.form.exists(situation):
        return State(Word.CREATED, "The job has been accepted.")
    if unplaced:
        return State(Word.QUEUED, cause or f"{unplaced} of {wanted} workers wait for a place on a node.")
    if not situation.shape.launcher:
        return State(Word.STARTING, _with(f"{_of(ready, wanted)} ready", situation, cause))
    if refusal := launching.refusal(situation):
        return State(Word.STARTING, f"{refusal}.")
    if ready < wanted:
        return State(Word.STARTING, _with(_too_few(situation, ready), situation, cause))
    if situation.launcher is not None and not situation.launcher.node:
        return State(Word.QUEUED, cause or f"{_workers(ready)} ready; the launcher waits for a place on a node.")
    return State(Word.STARTING, cause or f"{_workers(ready)} ready; the launcher is starting.")


def _too_few(situation: Situation, ready: int) -> str:
    least, wanted = situation.sizes.start_size, situation.wanted_size
    needs = f"the launcher starts with {f'all {wanted}' if least is None else f'at least {least.workers}'}"
    return f"{_of(ready, wanted)} ready; {deliberate_waits.starting(situation) or needs}"


def _of(count: int, wanted: int) -> str:
    return f"{count} of {wanted} workers {'is' if count == 1 else 'are'}"


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def restarts(situation: Situation) -> bool:
    """It was tried again and is not back at work."""
    back = situation.launcher_runs if situation.shape.launcher else all_run(situation)
    return situation.ledger.restarted_at is not None and not back


def all_run(situation: Situation) -> bool:
    """What upstream calls running: a launcher and all workers, or else whoever decides how the job ends."""
    if not situation.shape.launcher:
        return situation.runs and not situation.ledger.retried
    pods = [situation.workers.get(index) for index in situation.members]
    everybody = len(pods) >= situation.wanted_size
    return situation.runs and everybody and all(pod is not None and pod.phase == RUNNING for pod in pods)
