# SPDX-License-Identifier: Apache-2.0
"""Ranks, agents and launchers that are killed or stopped, hosts that come and go, scripts that misbehave, cables that
are cut, at any moment while a program learns: it gets to its last step, every step and sample counts once, what is
learned is what one undisturbed process learns, and nothing is left behind.

`make test-crash-elastic` plays 20 rounds, `make campaign` 200. SPRINGTIDE_CRASH_SEEDS (`7` or `0-19`) chooses others;
SPRINGTIDE_CRASH_REPORT names a file that gets one JSON line per round. Half of the rounds have three machines of their
own, networks joined by cables, where that is allowed.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.crash_elastic.rounds import Result, Round
from tests.integration.elastic import machines


def _seeds() -> range:
    first, _, last = os.environ.get("SPRINGTIDE_CRASH_SEEDS", "0-19").partition("-")
    return range(int(first), int(last or first) + 1)


def _report(result: Result) -> None:
    if path := os.environ.get("SPRINGTIDE_CRASH_REPORT"):
        words = {name: value for name, value in asdict(result).items() if name != "text"}
        with Path(path).open("a") as lines:
            lines.write(json.dumps(words) + "\n")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", _seeds())
def test_it_gets_to_its_last_step(seed: int, tmp_path: Path) -> None:
    played = Round(seed, tmp_path, cables=seed % 2 == 1 and machines.available())
    try:
        result = played.play()
    finally:
        played.close()
    _report(result)
    shown = "\n".join(f"  {fault}" for fault in result.violations[:20])
    assert not shown, f"{result.text}\n{shown}\n{result}\nrepeat it: make test-crash-elastic SEEDS={seed}"
