# SPDX-License-Identifier: Apache-2.0
"""A line on stderr whenever the state of a job changes, with the reason."""

from __future__ import annotations

from springtide import messages
from springtide.cli import speaking
from springtide.kube.resources import Obj
from springtide.messages import text
from springtide.views.outcomes import explanation
from springtide.views.states import state_of


class StateLines:
    def __init__(self, name: str) -> None:
        self._name = name
        self._last = ("", "")

    def show(self, job: Obj) -> None:
        now = (state_of(job), explanation(job))
        if now == self._last:
            return
        if now[0] == self._last[0] and _differ_in_numbers_only(now[1], self._last[1]):
            return
        self._last = now
        why = messages.recorded_text(now[1].partition("\n")[0], speaking.language())
        line = text("{name}: {state}", name=self._name, state=now[0])
        speaking.note(text("{line}. {why}", line=line, why=why) if why else line)


def _differ_in_numbers_only(one: str, other: str) -> bool:
    """Progress, not news."""
    return _without_digits(one) == _without_digits(other)


def _without_digits(words: str) -> str:
    return "".join(character for character in words if not character.isdigit())
