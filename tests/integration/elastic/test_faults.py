# SPDX-License-Identifier: Apache-2.0
"""Ranks that hang or seem to, newcomers that take long or die, and scripts that say now this, now that: real ranks,
which learn, and what they noted of their steps."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.elastic import books
from tests.integration.elastic.launching import Elastic, alive, until

pytestmark = pytest.mark.timeout(120)

PROGRAM = Path(__file__).with_name("learner.py")
ONE, TWO, THREE = "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"
SAMPLES, EPOCH = 195, 13
OPTIONS = ("--min-np", "1", "--blacklist-cooldown-range", "1", "2", "--verbose")


class Learning(Elastic):
    def __init__(self, folder: Path, hosts: str, *options: str, epochs: int, words: tuple[str, ...] = ()) -> None:
        self.epochs, self.slow = epochs, folder / "slow"
        self.slow.touch()
        pace = ("--pause", "0.01", "--slow", str(self.slow))
        program = (sys.executable, str(PROGRAM), str(folder), "--epochs", str(epochs), *pace, *words)
        super().__init__(folder, hosts, *OPTIONS, *options, program=program)

    @property
    def entries(self) -> list[books.Entry]:
        return books.read([self.folder])

    @property
    def steps(self) -> int:
        return max((entry.step for entry in self.entries), default=0)

    def goes_on(self, steps: int = 20) -> None:
        """So many steps from now."""
        before = self.steps
        self.until(lambda: self.steps >= before + steps, f"{steps} steps after {before}")

    def judged(self) -> None:
        """It comes to its end, without any pauses now, and every sample counts once."""
        self.slow.unlink()
        assert self.ended() == 0, self.text
        faults = books.faults(books.counted(self.entries), EPOCH * self.epochs, self.epochs, SAMPLES)
        assert list(faults) == [], self.text
        assert {result["steps"] for result in books.results([self.folder])} == {EPOCH * self.epochs}

    def undisturbed(self) -> None:
        """Nobody was taken for dead, and nobody went back."""
        assert "nothing is started there" not in self.text, self.text
        assert [step for step, done in books.attempts(self.entries).items() if len(done) > 1] == [], self.text


@pytest.fixture
def learning(tmp_path: Path) -> Iterator[Callable[..., Learning]]:
    made: list[Learning] = []

    def launched(hosts: str, *options: str, epochs: int = 15, **more: Any) -> Learning:
        made.append(Learning(tmp_path, hosts, *options, epochs=epochs, **more))
        return made[-1]

    yield launched
    for each in made:
        each.close()


# Ranks that hang, and ranks that only seem to


def test_a_hung_rank_is_killed_and_replaced_and_every_sample_counts_once(learning: Callable[..., Learning]) -> None:
    run = learning(f"{ONE} {TWO}", "-np", "2", "--heartbeat-timeout", "2", words=("--commit", "5"))
    run.goes_on()
    rank = run.pids()[1]
    os.kill(rank, signal.SIGSTOP)
    run.saw("sent no message for 2 s")
    until(lambda: not alive(rank), "it has ended")
    run.judged()


def test_a_rank_that_is_stopped_for_a_while_is_waited_for(learning: Callable[..., Learning]) -> None:
    """Longer than an agent may be silent: its agent speaks for it."""
    run = learning(f"{ONE} {TWO}", "-np", "2")
    run.goes_on()
    os.kill(run.pids()[1], signal.SIGSTOP)
    time.sleep(3)
    os.kill(run.pids()[1], signal.SIGCONT)
    run.goes_on()
    run.judged()
    run.undisturbed()


def test_a_newcomer_whose_imports_hold_the_interpreter_lock_is_not_taken_for_dead(
    learning: Callable[..., Learning],
) -> None:
    """No thread of its own could beat for it meanwhile, and it takes longer than any patience that is left to it."""
    words = ("--loads", "5", "--slowly")
    run = learning(ONE, "-np", "1", "--heartbeat-timeout", "3", epochs=100, words=words)
    run.goes_on()
    run.hosts(f"{ONE} {TWO}")
    run.until(lambda: any(entry.size == 2 for entry in run.entries), "two ranks")
    run.judged()
    run.undisturbed()


def test_a_rank_that_holds_the_interpreter_lock_between_two_steps_is_not_taken_for_dead(
    learning: Callable[..., Learning],
) -> None:
    run = learning(f"{ONE} {TWO}", "-np", "2", words=("--busy-at", "30"))
    run.judged()
    run.undisturbed()


# Newcomers


def test_nobody_waits_for_a_slow_newcomer(learning: Callable[..., Learning]) -> None:
    run = learning(ONE, "-np", "1", epochs=40, words=("--loads", "2"))
    run.goes_on()
    before = run.steps
    run.hosts(f"{ONE} {TWO}")
    run.until(lambda: any(entry.size == 2 for entry in run.entries), "two ranks")
    meanwhile = [entry for entry in run.entries if entry.size == 1 and entry.step > before]
    assert len(meanwhile) > 20
    run.judged()
    run.undisturbed()


def test_a_newcomer_that_is_killed_while_it_loads_disturbs_nobody(learning: Callable[..., Learning]) -> None:
    run = learning(f"{ONE} {TWO}", "-np", "2", epochs=30, words=("--loads", "60", "--slowly"))
    run.goes_on()
    run.hosts(f"{ONE} {TWO} {THREE}")
    pid = run.until(lambda: run.pids().get(2), "a newcomer")
    os.kill(pid, signal.SIGKILL)
    run.saw(r"\[127.0.0.3:0\] on 127.0.0.3 was killed by SIGKILL")
    run.goes_on()
    run.hosts(f"{ONE} {TWO}")
    run.judged()
    assert [step for step, done in books.attempts(run.entries).items() if len(done) > 1] == [], run.text


# Launchers


def test_a_launcher_that_was_killed_is_started_again_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    folders, epochs = [tmp_path / "first", tmp_path / "second"], 15
    for folder in folders:
        folder.mkdir()
    words = ("--checkpoint", str(tmp_path / "checkpoints"))
    first = Learning(folders[0], f"{ONE} {TWO}", "-np", "2", epochs=epochs, words=words)
    try:
        first.goes_on(40)
    finally:
        first.process.kill()
        first.close()
    second = Learning(folders[1], ONE, "-np", "1", epochs=epochs, words=words)
    try:
        second.slow.unlink()
        assert second.ended() == 0, second.text
    finally:
        second.close()
    assert min(entry.step for entry in second.entries) > 20, "it began in the midst"
    counted = books.counted(books.read(folders))
    assert list(books.faults(counted, EPOCH * epochs, epochs, SAMPLES)) == []


# Scripts


def test_a_script_that_names_hosts_twice_starts_nobody_twice(learning: Callable[..., Learning]) -> None:
    run = learning(f"{ONE} {TWO} {ONE} {TWO}", "-np", "2")
    run.goes_on()
    run.write(f"#!/bin/sh\necho {TWO}\necho {ONE}\necho {TWO}\n")
    run.goes_on()
    run.judged()
    run.undisturbed()
    assert len(run.pids()) == 2


def test_a_script_that_flaps_costs_no_step(learning: Callable[..., Learning], tmp_path: Path) -> None:
    """A host that is there at every other call only was never gone."""
    run = learning(f"{ONE} {TWO}", "-np", "2", epochs=30)
    run.goes_on()
    flag = tmp_path / "flag"
    run.write(f"#!/bin/sh\necho {ONE}\nif rm {flag} 2>/dev/null; then echo {TWO}; else touch {flag}; fi\n")
    run.goes_on(100)
    run.judged()
    run.undisturbed()
    assert len(run.pids()) == 2


def test_a_script_that_fails_all_the_time_changes_nothing(learning: Callable[..., Learning]) -> None:
    run = learning(f"{ONE} {TWO}", "-np", "2")
    run.goes_on()
    run.write("#!/bin/sh\necho the server is away >&2\nexit 1\n")
    run.saw("failed with code 1: the server is away; the hosts stay as they were")
    run.goes_on()
    run.judged()
    run.undisturbed()


def test_a_script_that_hangs_does_not_outlive_a_killed_launcher(
    learning: Callable[..., Learning], tmp_path: Path
) -> None:
    run = learning(ONE, "-np", "1", epochs=100)
    run.goes_on()
    noted = tmp_path / "script"
    run.write(f"#!/bin/sh\necho $$ > {noted}.new; mv {noted}.new {noted}; sleep 300\n")
    run.until(noted.exists, "the script runs")
    run.process.kill()
    until(lambda: not alive(int(noted.read_text())), "the script has ended")
    until(lambda: not any(alive(pid) for pid in run.pids().values()), "the ranks have ended")
