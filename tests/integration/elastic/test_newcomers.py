# SPDX-License-Identifier: Apache-2.0
"""Newcomers that die at the last moment: when the others have stopped for them, and before they have what they need."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Elastic

pytestmark = pytest.mark.timeout(120)

PROGRAM = """
import os, sys, time
from pathlib import Path
from springtide import elastic

class Weights:
    def state_dict(self):
        return {"step": 0}

    def load_state_dict(self, found):
        if os.environ["TIDE_WORKER"] != "0":
            os.kill(os.getpid(), 9)

done, end = 0, Path(sys.argv[1])
state = elastic.State(weights=Weights(), step=0)

@elastic.run
def train(state):
    global done
    while not end.exists():
        elastic.barrier()
        state.step, done = state.step + 1, done + 1
        print(f"step {state.step}", flush=True)
        time.sleep(0.05)
        state.check()

train(state)
print(f"{state.step} steps, {done} done")
"""


def test_a_newcomer_that_dies_with_the_state_of_the_others_sends_nobody_back(tmp_path: Path) -> None:
    program = (sys.executable, "-c", PROGRAM, str(tmp_path / "done"))
    with closing(Elastic(tmp_path, "127.0.0.1:1", "-np", "1", "--min-np", "1", program=program)) as run:
        run.saw("step 5$")
        run.hosts("127.0.0.1:1 127.0.0.2:1")
        run.saw("was killed by SIGKILL")
        seen = len(run.saw(r"step \d+$"))
        run.saw(r"step \d+$", seen + 5)
        assert run.finish() == 0, run.text
        ((steps, done),) = [match.groups() for match in run.saw(r"(\d+) steps, (\d+) done")]
        assert steps == done, run.text
