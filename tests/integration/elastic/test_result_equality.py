# SPDX-License-Identifier: Apache-2.0
"""What is learned does not depend on how many learn it: the same samples in every epoch and the same losses, with
resizes and without. tests/crash_elastic has more of this."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.elastic import books
from tests.integration.elastic.launching import Elastic, alive

pytestmark = pytest.mark.timeout(120)

PROGRAM = Path(__file__).with_name("learner.py")
SAMPLES, EPOCH, EPOCHS = 195, 13, 5
STEPS = EPOCH * EPOCHS
RESIZES = 10
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
OPTIONS = ("-np", "1", "--min-np", "1", "--blacklist-cooldown-range", "1", "1", "--verbose")


def learned_alone(folder: Path, seed: int) -> dict[str, Any]:
    folder.mkdir()
    command = [sys.executable, str(PROGRAM), str(folder), "--epochs", str(EPOCHS), "--seed", str(seed)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    (result,) = books.results([folder])
    return result


def sizes(chance: random.Random) -> Iterator[str]:
    """Lists of hosts with one to four slots, each another one than the last."""
    last = ""
    while True:
        chosen = chance.sample(HOSTS, chance.randint(1, 4))
        if (listing := " ".join(f"{host}:1" for host in sorted(chosen))) != last:
            last = listing
            yield listing


def places(chance: random.Random) -> list[int]:
    """Steps after which something happens: some of them around the ends of epochs."""
    ends = {chance.choice((-2, -1, 0, 1)) + EPOCH * epoch for epoch in range(1, EPOCHS)}
    others = chance.sample(sorted(set(range(1, STEPS - 2)) - ends), RESIZES - len(ends))
    return sorted(ends | set(others))


class Guided:
    """A run that waits at the steps it is told to."""

    def __init__(self, folder: Path, hosts: str, *options: str) -> None:
        self.folder = folder
        self.gated = -1
        self.stepped_into = 1  # the first generation begins without a step
        self.gate(0)
        program = (sys.executable, str(PROGRAM), str(folder), "--epochs", str(EPOCHS), *options)
        self.run = Elastic(folder, hosts, *OPTIONS, program=program)

    def gate(self, step: int) -> None:
        if step <= self.gated:
            return
        self.gated = step
        new = self.folder / "gate.new"
        new.write_text(str(step))
        new.rename(self.folder / "gate")

    def reach(self, step: int) -> None:
        """All ranks of now are through with this step: the launcher hears of it when they are."""
        self.gate(step)

        self.run.until(lambda: any(entry.step >= step for entry in books.read([self.folder])), f"step {step}")

    def generations(self) -> int:
        return len(re.findall(r"^tiderun: generation \d+: ", self.run.text, re.MULTILINE))

    def resize(self, listing: str) -> None:
        """At the step it stands at. Goes on, a step for every generation that is decided, until the ranks are those
        that are wanted."""
        self.run.hosts(listing)
        wanted = {entry.partition(":")[0] for entry in listing.split()}

        def there() -> bool:
            # One that was decided before this resize may wait for its step, too.
            if (decided := self.generations()) > self.stepped_into:
                self.stepped_into = decided
                self.gate(self.gated + 1)
            report = next((line for line in reversed(self.run.lines) if line.startswith("{")), "{}")
            words = json.loads(report)
            return words.get("size") == len(wanted) and set(words["hosts"]) == wanted

        self.run.until(there, f"ranks on {wanted}")

    def end(self) -> None:
        self.gate(STEPS)
        assert self.run.ended() == 0, self.run.text


@pytest.fixture
def closing() -> Iterator[list[Guided]]:
    found: list[Guided] = []
    yield found
    for each in found:
        each.run.close()


def test_ten_resizes_change_nothing_in_what_is_learned(tmp_path: Path, closing: list[Guided]) -> None:
    seed = int(os.environ.get("SPRINGTIDE_EQUALITY_SEED", "3"))
    chance = random.Random(seed)
    plain = learned_alone(tmp_path / "alone", seed)
    listings = sizes(chance)
    guided = Guided(tmp_path, next(listings), "--seed", str(seed))
    closing.append(guided)
    for step in places(chance):
        guided.reach(step)
        guided.resize(next(listings))
    guided.end()
    entries = books.read([tmp_path])
    again = [step for step, done in books.attempts(entries).items() if len(done) > 1]
    assert again == [], guided.run.text  # nobody goes back for a resize
    assert list(books.faults(books.counted(entries), STEPS, EPOCHS, SAMPLES)) == []
    assert list(books.unequal(books.results([tmp_path]), plain)) == []
    assert guided.generations() > RESIZES


def test_neither_do_ten_resizes_and_deaths(tmp_path: Path, closing: list[Guided]) -> None:
    """Steps since the last commit are done again, by whoever is left: what counts is each sample once."""
    seed = int(os.environ.get("SPRINGTIDE_EQUALITY_SEED", "5"))
    chance = random.Random(seed)
    plain = learned_alone(tmp_path / "alone", seed)
    listings = sizes(chance)
    guided = Guided(tmp_path, next(listings), "--seed", str(seed), "--commit", "3")
    closing.append(guided)
    for number, step in enumerate(places(chance)):
        guided.reach(step)
        ranks = [pid for pid in guided.run.pids().values() if alive(pid)]
        if number % 2 and ranks:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(ranks), signal.SIGKILL)
        else:
            guided.run.hosts(next(listings))
        time.sleep(chance.uniform(0, 0.8))  # some are heard of before the next step, some after it
    guided.end()
    entries = books.read([tmp_path])
    assert list(books.faults(books.counted(entries), STEPS, EPOCHS, SAMPLES)) == []
    assert list(books.unequal(books.results([tmp_path]), plain)) == []
