# SPDX-License-Identifier: Apache-2.0
"""The transitions of a scaler: those in the table, and no others."""

from __future__ import annotations

from itertools import product

import pytest

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.scalers import ScalerStatus
from springtide.jobs.scaling import phases
from springtide.jobs.scaling.phases import TRANSITIONS, IllegalTransition, ScalerPhase, Trigger

PAIRS = list(product(ScalerPhase, Trigger))


@pytest.mark.parametrize(("phase", "trigger"), [pair for pair in PAIRS if pair not in TRANSITIONS])
def test_a_pair_that_is_not_in_the_table_is_illegal(phase: ScalerPhase, trigger: Trigger) -> None:
    with pytest.raises(IllegalTransition):
        phases.after(phase, trigger)


@pytest.mark.parametrize(("phase", "trigger"), TRANSITIONS)
def test_a_pair_in_the_table_leads_where_it_says(phase: ScalerPhase, trigger: Trigger) -> None:
    assert phases.after(phase, trigger) is TRANSITIONS[phase, trigger]


@pytest.mark.parametrize("phase", [each for each in ScalerPhase if each.ended])
def test_nothing_happens_to_a_scaler_that_has_ended(phase: ScalerPhase) -> None:
    assert not [pair for pair in TRANSITIONS if pair[0] is phase]


def test_every_phase_and_every_trigger_is_in_the_table() -> None:
    assert {phase for phase, _ in TRANSITIONS} | set(TRANSITIONS.values()) == set(ScalerPhase)
    assert {trigger for _, trigger in TRANSITIONS} == set(Trigger)


def test_every_phase_but_the_first_is_reached_and_every_other_leads_to_an_end() -> None:
    reached = {ScalerPhase.NEW}
    for _ in ScalerPhase:
        reached |= {after for (before, _), after in TRANSITIONS.items() if before in reached}
    assert reached == set(ScalerPhase)
    ends = {phase for phase in ScalerPhase if phase.ended}
    for _ in ScalerPhase:
        ends |= {before for (before, _), after in TRANSITIONS.items() if after in ends}
    assert ends == set(ScalerPhase)


def status(*types: str, sizes: tuple[int | None, int | None] = (2, 3), value: str = "True") -> ScalerStatus:
    conditions = tuple(Condition(type=each, status=value) for each in types)
    return ScalerStatus(conditions=conditions, start_size=sizes[0], target_size=sizes[1])


@pytest.mark.parametrize(
    ("given", "phase"),
    [
        (status(), ScalerPhase.NEW),
        (status("Created"), ScalerPhase.CREATED),
        (status("Created", "Scaling"), ScalerPhase.SCALING),
        (status("Created", "Scaling", "ScriptExecuted"), ScalerPhase.SCRIPT_EXECUTED),
        (status("Created", "Scaling", "ScaleSucceeded"), ScalerPhase.SUCCEEDED),
        (status("Created", "Scaling", "ScriptExecuted", "ScaleFailed"), ScalerPhase.FAILED),
        (status("Created", "ScaleFailed"), ScalerPhase.FAILED),
    ],
)
def test_the_phase_is_read_from_the_conditions(given: ScalerStatus, phase: ScalerPhase) -> None:
    assert phases.of(given) is phase


def test_a_condition_that_is_false_does_not_count() -> None:
    assert phases.of(status("ScaleFailed", value="False")) is ScalerPhase.NEW


@pytest.mark.parametrize("sizes", [(None, None), (2, None), (None, 3), (-1, 3), (2, -3)])
def test_a_scaler_that_another_operator_began_without_sizes_waits_for_its_turn(
    sizes: tuple[int | None, int | None],
) -> None:
    assert phases.of(status("Created", "Scaling", "ScriptExecuted", sizes=sizes)) is ScalerPhase.CREATED
