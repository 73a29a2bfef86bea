# SPDX-License-Identifier: Apache-2.0
"""`kill -9` of the real server at random points under write load: nothing acknowledged is lost, nothing is made up.

`make test-crash` plays 20 rounds and `make campaign` 200. SPRINGTIDE_CRASH_SEEDS (`7` or `0-19`) chooses others;
SPRINGTIDE_CRASH_REPORT names a file that gets one JSON line per round.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.crash.rounds import Result, play


def _seeds() -> range:
    first, _, last = os.environ.get("SPRINGTIDE_CRASH_SEEDS", "0-19").partition("-")
    return range(int(first), int(last or first) + 1)


def _report(result: Result) -> None:
    if path := os.environ.get("SPRINGTIDE_CRASH_REPORT"):
        with Path(path).open("a") as lines:
            lines.write(json.dumps(asdict(result)) + "\n")


@pytest.mark.timeout(240)  # a round takes seconds; on a machine busy with other things it may take its time
@pytest.mark.parametrize("seed", _seeds())
async def test_nothing_acknowledged_is_lost_when_the_server_is_killed(seed: int, tmp_path: Path) -> None:
    result = await play(seed, tmp_path)
    _report(result)
    shown = "\n  ".join(result.violations[:20])
    assert not result.violations, f"seed {seed}:\n  {shown}\nrepeat it: make test-crash SEEDS={seed}"
