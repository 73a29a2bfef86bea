# SPDX-License-Identifier: Apache-2.0
"""Replays a run from its event log: for debugging, or to test whether the decisions have changed.

run_state, steps = replay(path.read_text().splitlines())
changed = [step for step in steps if step.found != step.recorded.actions]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from springtide.elastic.launcher.state_machine import event_log
from springtide.elastic.launcher.state_machine.event_log import Recorded
from springtide.elastic.launcher.state_machine.machine import Machine
from springtide.elastic.launcher.state_machine.run_state import RunState


@dataclass(frozen=True, slots=True)
class Step:
    recorded: Recorded
    found: tuple[str, ...]
    """The actions of the replay; `recorded.actions` are the logged ones."""


def replay(lines: Iterable[str]) -> tuple[RunState, list[Step]]:
    """LogError for an incomplete log."""
    recording = event_log.read(lines)
    machine = Machine(recording.settings, recording.began)
    steps = []
    for each in recording.events:
        actions = machine.handle(each.event, each.at)
        steps.append(Step(each, tuple(map(event_log.written, actions))))
    return machine.run_state, steps
