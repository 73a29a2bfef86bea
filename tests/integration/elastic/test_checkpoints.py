# SPDX-License-Identifier: Apache-2.0
"""Runs that follow one another, as after suspend and resume."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.elastic.launching import Launch

PROGRAM = Path(__file__).with_name("resumed.py")


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
