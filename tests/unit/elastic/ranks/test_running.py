# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.elastic import State, run
from springtide.elastic.ranks.session import LauncherLostError


def test_without_a_launcher_a_function_is_called_once() -> None:
    @run
    def train(state: State, steps: int) -> str:
        state.step += steps
        return "done"

    state = State(step=1)
    assert (train(state, 3), state.step) == ("done", 4)


def test_a_program_whose_launcher_is_gone_ends_without_a_traceback() -> None:
    @run
    def train(state: State) -> None:
        raise LauncherLostError("the launcher is gone")

    with pytest.raises(SystemExit, match="springtide: the launcher is gone"):
        train(State())
