# SPDX-License-Identifier: Apache-2.0
"""The one word and the one sentence a person is told of a job; every front door shows these and no others.

A chain, the first that applies: the list is the specification.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import condition, holds
from springtide.jobs import deferring, launching
from springtide.jobs.conditions import Conditions
from springtide.jobs.observed import RUNNING
from springtide.jobs.situation import Situation


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


def state(situation: Situation, conditions: Conditions) -> State:
    ended = _ended(situation, conditions)
    if ended is not None:
        return ended
    return _working(situation) if situation.runs else _not_yet(situation, conditions)


def _ended(situation: Situation, conditions: Conditions) -> State | None:
    for type_, word in ((types.SUCCEEDED, Word.SUCCEEDED), (types.FAILED, Word.FAILED)):
        found = condition(conditions, type_)
        if found is not None and found.status == "True":
            return State(word, found.message)
    if situation.job.run.suspend:
        return State(Word.SUSPENDED, "The job is suspended and has no pods.")
    return None


def _working(situation: Situation) -> State:
    ready, wanted = len(launching.ready(situation)), situation.wanted_size
    least = situation.shape.bounds.min if situation.shape.bounds else 0
    if ready < least:
        return State(Word.RUNNING, f"The job waits: {_workers(ready)} ready, and it needs at least {least}.")
    if differs := deferring.explained(situation):
        return State(Word.RUNNING, f"{differs}.")
    if situation.ledger.draining:
        names = situation.worker_names(situation.ledger.draining)
        return State(Word.SCALING_IN, f"The launcher has been told to leave {names}.")
    if len(situation.ledger.listed) < wanted and situation.shape.elastic:
        return State(Word.SCALING_OUT, f"{len(situation.ledger.listed)} of {wanted} workers are in the host list.")
    return State(Word.RUNNING, f"The job runs with {_workers(ready)}.")


def _not_yet(situation: Situation, conditions: Conditions) -> State:
    if any(pod.terminating and not pod.ended for pod in situation.observed.of(situation.shape.launcher)):
        return State(Word.RESTARTING, "The launcher was told to end; another one starts when it has.")
    ready, wanted = len(launching.ready(situation)), situation.wanted_size
    if holds(conditions, types.RESTARTING):
        return State(Word.RESTARTING, f"The job is tried again; {ready} of {wanted} workers are ready.")
    members = [situation.workers.get(index) for index in situation.members]
    unplaced = sum(pod is not None and not pod.node for pod in members)
    if not members and not situation.fixed and not launching.exists(situation):
        return State(Word.CREATED, "The job has been accepted.")
    if unplaced:
        return State(Word.QUEUED, f"{unplaced} of {wanted} workers wait for a place on a node.")
    if not situation.shape.launcher:
        return State(Word.STARTING, f"{ready} of {wanted} workers are ready.")
    if refusal := launching.refusal(situation):
        return State(Word.STARTING, f"{refusal}.")
    least = situation.shape.start_size
    if ready < wanted:
        needs = f"all {wanted}" if least is None else f"at least {least.workers}"
        return State(Word.STARTING, f"{ready} of {wanted} workers are ready; the launcher starts with {needs}.")
    if situation.launcher is not None and not situation.launcher.node:
        return State(Word.QUEUED, f"{_workers(ready)} ready; the launcher waits for a place on a node.")
    return State(Word.STARTING, f"{_workers(ready)} ready; the launcher is starting.")


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
