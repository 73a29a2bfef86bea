# SPDX-License-Identifier: Apache-2.0
"""Connections that are half open: three machines, two of which lose each other while both reach the launcher. Nobody
hangs up then, and nobody is silent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.elastic import books, machines
from tests.integration.elastic.launching import Launch
from tests.integration.elastic.machines import Machines

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(not machines.available(), reason="only root can set up networks"),
]

PROGRAM = Path(__file__).with_name("learner.py")
SAMPLES, EPOCH, EPOCHS = 195, 13, 12
_, TWO, THREE = Machines.hosts


class Parted:
    def __init__(self, folder: Path) -> None:
        self.folder, self.slow = folder, folder / "slow"
        self.slow.touch()
        self.machines = Machines(folder)
        self.launch: Launch | None = None

    def start(self, *options: str) -> Launch:
        pace = ("--pause", "0.02", "--slow", str(self.slow))
        program = (sys.executable, str(PROGRAM), str(self.folder), "--epochs", str(EPOCHS), *pace)
        arguments = ("-np", "2", *options, "-H", f"{TWO}:1,{THREE}:1", "--verbose", *program)
        self.launch = Launch(self.folder, arguments, self.machines.environment, inside=self.machines.inside)
        return self.launch

    @property
    def entries(self) -> list[books.Entry]:
        return books.read([self.folder])

    def goes_on(self, run: Launch, size: int, steps: int) -> None:
        before = max((entry.step for entry in self.entries), default=0)

        def further() -> bool:
            return any(entry.size == size and entry.step >= before + steps for entry in self.entries)

        run.until(further, f"{steps} steps of {size} after {before}")

    def judged(self, run: Launch) -> None:
        self.slow.unlink()
        assert run.ended() == 0, run.text
        faults = books.faults(books.counted(self.entries), EPOCH * EPOCHS, EPOCHS, SAMPLES)
        assert list(faults) == [], run.text

    def close(self) -> None:
        if self.launch is not None:
            self.launch.close()
        self.machines.close()


@pytest.fixture
def parted(tmp_path: Path) -> Iterator[Parted]:
    found = Parted(tmp_path)
    yield found
    found.close()


def test_machines_that_lose_each_other_for_a_moment_go_on(parted: Parted) -> None:
    run = parted.start("--min-np", "1")
    parted.goes_on(run, size=2, steps=10)
    parted.machines.part()
    before = max(entry.step for entry in parted.entries)
    parted.machines.join()
    parted.goes_on(run, size=2, steps=10)
    parted.judged(run)
    assert max(entry.step for entry in parted.entries) > before
    assert "nothing is started there" not in run.text, run.text


def test_machines_that_lose_each_other_for_good_do_without_one(parted: Parted) -> None:
    run = parted.start("--min-np", "1")
    parted.goes_on(run, size=2, steps=10)
    parted.machines.part()
    run.saw(f"on {THREE} cannot (be reached from|reach) {TWO}; nothing is started there")
    parted.goes_on(run, size=1, steps=10)
    parted.judged(run)


def test_machines_that_never_reach_each_other_are_named(parted: Parted) -> None:
    parted.machines.part()
    run = parted.start()
    assert run.ended() == 1
    run.saw(rf"^tiderun: \[1\] on {THREE} cannot (be reached from|reach) {TWO}$")
