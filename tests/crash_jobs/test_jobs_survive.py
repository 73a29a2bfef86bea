# SPDX-License-Identifier: Apache-2.0
"""`kill -9` of operator, server, node agents and supervisor while jobs are resized, lose workers, nodes and launchers,
are suspended, and deleted and created again.

Every round has a cluster of its own, every fourth an ordinary user's. `make test-crash` plays 20 rounds and `make
campaign` 200. SPRINGTIDE_CRASH_SEEDS (`7` or `0-19`) chooses others; SPRINGTIDE_CRASH_REPORT names a file that gets one
JSON line per round; with SPRINGTIDE_CRASH_KEEP the clusters' files stay in the temporary directory.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.crash_jobs import rounds
from tests.crash_jobs.rounds import Result

from springtide.local.runtime import isolation


def _seeds() -> range:
    first, _, last = os.environ.get("SPRINGTIDE_CRASH_SEEDS", "0-19").partition("-")
    return range(int(first), int(last or first) + 1)


def _report(result: Result) -> None:
    if path := os.environ.get("SPRINGTIDE_CRASH_REPORT"):
        with Path(path).open("a") as lines:
            lines.write(json.dumps(asdict(result)) + "\n")


@pytest.mark.timeout(900)  # a round takes seconds; on a machine busy with other things it may take its time
@pytest.mark.parametrize("seed", _seeds())
async def test_jobs_get_where_they_are_meant_to_be(seed: int) -> None:
    if isolation.probe().isolation != "namespaces":
        pytest.skip("this system refuses namespaces; see tide doctor")
    result = await rounds.play(seed, as_user=os.geteuid() != 0 or seed % 4 == 3)
    _report(result)
    shown = "\n".join(f"  {fault}" for fault in result.violations[:20])
    assert not shown, f"\n{shown}\n{result}\nrepeat it: make test-crash SEEDS={seed}"
