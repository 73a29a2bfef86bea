# SPDX-License-Identifier: Apache-2.0
"""Ranks and agents that are killed or stopped, and hosts that come and go, at any moment while a program trains: it
gets to its last step, every step counts once, and nothing is left behind.

SPRINGTIDE_CRASH_SEEDS (`7` or `0-19`) chooses the schedules.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Elastic, alive, parent, until

PROGRAM = Path(__file__).with_name("program.py")
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
STEPS = 600
BLOWS = 20
OPTIONS = ("-np", "1", "--min-np", "1", "--max-np", "4", "--blacklist-cooldown-range", "1", "2", "--verbose")
PATIENCE = 120.0


def _seeds() -> range:
    first, _, last = os.environ.get("SPRINGTIDE_CRASH_SEEDS", "0-19").partition("-")
    return range(int(first), int(last or first) + 1)


class Schedule:
    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.stopped: set[int] = set()
        program = (sys.executable, str(PROGRAM), str(STEPS))
        self.run = Elastic(folder, self.hosts(), *OPTIONS, "--heartbeat-timeout", "4", program=program)

    def hosts(self) -> str:
        chosen = self.chance.sample(HOSTS, self.chance.randint(1, 3))
        return " ".join(f"{host}:{self.chance.randint(1, 2)}" for host in chosen)

    def strike(self) -> None:
        blows: list[Callable[[int], None]] = [self.kill_rank, self.kill_agent, self.stop_rank, self.stop_agent]
        blow = self.chance.choice([None, None, *blows])
        ranks = sorted(pid for pid in self.run.pids().values() if alive(pid))
        if blow is None:
            self.run.hosts(self.hosts())
        elif ranks:
            with suppress(ProcessLookupError, FileNotFoundError):
                blow(self.chance.choice(ranks))

    def kill_rank(self, rank: int) -> None:
        os.kill(rank, signal.SIGKILL)

    def kill_agent(self, rank: int) -> None:
        os.kill(parent(rank), signal.SIGKILL)

    def stop_rank(self, rank: int) -> None:
        os.kill(rank, signal.SIGSTOP)

    def stop_agent(self, rank: int) -> None:
        self.stopped.add(parent(rank))
        os.kill(parent(rank), signal.SIGSTOP)

    def close(self) -> None:
        for agent in self.stopped:
            with suppress(ProcessLookupError):
                os.kill(agent, signal.SIGCONT)
        self.run.close()


@pytest.fixture
def schedule(tmp_path: Path) -> Iterator[Callable[[int], Schedule]]:
    made: list[Schedule] = []

    def make(seed: int) -> Schedule:
        made.append(Schedule(seed, tmp_path))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", _seeds())
def test_it_gets_to_its_last_step(schedule: Callable[[int], Schedule], seed: int) -> None:
    played = schedule(seed)
    run = played.run
    for _ in range(BLOWS):
        if run.process.poll() is None:
            time.sleep(played.chance.choice([0.05, 0.3, 0.8, 1.5]))
            played.strike()
    run.hosts("127.0.0.1:2")
    until(lambda: run.process.poll() is not None, f"the end\n{run.text}", PATIENCE)
    assert run.ended() == 0, run.text
    ends = re.findall(r"^\[\d+\]<stdout>:the end of \d+: (\d+) steps, (.*)$", run.text, re.MULTILINE)
    assert ends, run.text
    assert set(ends) == {(str(STEPS), str(STEPS))}, run.text
    everybody = {*run.pids().values(), *played.stopped}
    until(lambda: not any(alive(pid) for pid in everybody), "all have ended")
