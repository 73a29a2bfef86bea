# SPDX-License-Identifier: Apache-2.0
"""Runs that follow one another, as after suspend and resume."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Launch

PROGRAM = Path(__file__).with_name("resumed.py")
SLOW = Path(__file__).with_name("saved.py")


def test_every_run_goes_on_from_the_end_of_the_last_one_whatever_its_size(tmp_path: Path) -> None:
    for size, first, last, rate in ((2, 0, 4, 1), (1, 4, 7, 0.5), (2, 7, 9, 1)):
        command = [sys.executable, str(PROGRAM), str(tmp_path / "checkpoints"), str(last)]
        run = Launch(tmp_path, ["-np", str(size), "-H", f"localhost:{size}", *command])
        try:
            assert run.ended() == 0, run.text
            for rank in range(size):
                run.saw(f"rank {rank} of {size} from {first} to {last}, rate {rate:g}$")
        finally:
            run.close()


@pytest.mark.parametrize("every", [1, 1000])
def test_a_launcher_that_is_told_to_end_leaves_a_checkpoint_of_the_step_it_was_at(tmp_path: Path, every: int) -> None:
    """Also where one is written only now and then, and the first is far away."""
    command = [sys.executable, str(SLOW), str(tmp_path / "checkpoints"), str(every)]
    run = Launch(tmp_path, ["-np", "2", "-H", "localhost:2", *command])
    try:
        run.saw(r"step 5$")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 128 + signal.SIGTERM
        run.saw("SIGTERM: a checkpoint is written at the next commit")
        last = run.saw(r'"springtide":"progress".*"checkpoint":(\d+)')
    finally:
        run.close()
    again = Launch(tmp_path, ["-np", "1", "-H", "localhost:1", *command])
    try:
        reached = int(again.saw(r"the checkpoint is of step (\d+)")[-1][1])
        assert reached >= max(int(last[-1][1]), 5)
        again.saw(rf"step {reached + 1}$")
        assert int(again.saw(r'"springtide":"progress".*"checkpoint":(\d+)')[-1][1]) >= reached
    finally:
        again.close()


def test_without_checkpoints_it_ends_at_once(tmp_path: Path) -> None:
    run = Launch(tmp_path, ["-np", "1", "-H", "localhost:1", sys.executable, str(SLOW), "", "1"])
    try:
        run.saw(r"step 5$")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 128 + signal.SIGTERM
        assert "a checkpoint is written" not in run.text
    finally:
        run.close()
