# SPDX-License-Identifier: Apache-2.0
"""`kill -9` of server, node agents, netd, supervisor and shims while 50 pods run and write numbered lines.

Five rounds share one cluster, every fourth cluster is an ordinary user's. `make test-crash` plays 20 rounds and
`make campaign` 200. SPRINGTIDE_CRASH_SEEDS (`7` or `0-19`) chooses others; SPRINGTIDE_CRASH_REPORT names a file
that gets one JSON line per round; with SPRINGTIDE_CRASH_KEEP the clusters' files stay in the temporary directory.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.crash_pods import cluster
from tests.crash_pods.rounds import Result, Session

from springtide.local.runtime import isolation

ROUNDS = 5


def _sessions() -> list[list[int]]:
    first, _, last = os.environ.get("SPRINGTIDE_CRASH_SEEDS", "0-19").partition("-")
    found: dict[int, list[int]] = {}
    for seed in range(int(first), int(last or first) + 1):
        found.setdefault(seed // ROUNDS, []).append(seed)
    return list(found.values())


def _is_users(seeds: list[int]) -> bool:
    return os.geteuid() != 0 or seeds[0] // ROUNDS % 4 == 3


def _report(result: Result) -> None:
    if path := os.environ.get("SPRINGTIDE_CRASH_REPORT"):
        with Path(path).open("a") as lines:
            lines.write(json.dumps(asdict(result)) + "\n")


def _show(results: list[Result]) -> str:
    faults = [(result.seed, fault) for result in results for fault in result.violations]
    return "\n".join(f"  seed {seed}: {fault}" for seed, fault in faults[:20])


@pytest.mark.timeout(900)  # a round takes seconds; on a machine busy with other things it may take its time
@pytest.mark.parametrize("seeds", _sessions(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
async def test_pods_survive_whoever_is_killed(seeds: list[int]) -> None:
    if isolation.probe().isolation != "namespaces":
        pytest.skip("this system refuses namespaces; see tide doctor")
    results = []
    async with cluster.running(_is_users(seeds)) as found:
        session = Session(found)
        await session.prepare()
        for seed in seeds:
            results.append(await session.play(seed))
            if results[-1].violations:
                break  # what follows would only be more of the same
        results.append(await session.play_to_the_end(seeds[-1]))
    for result in results:
        _report(result)
    shown = _show(results)
    assert not shown, f"\n{shown}\nrepeat it: make test-crash SEEDS={seeds[0]}-{results[-1].seed}"
