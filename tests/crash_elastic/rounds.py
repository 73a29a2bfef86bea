# SPDX-License-Identifier: Apache-2.0
"""One round: a program that learns under `tiderun`, a schedule of blows; then it is left alone until its end, and what
it learned is judged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash_elastic import schedule
from tests.crash_elastic.schedule import Act
from tests.integration.elastic import books
from tests.integration.elastic.launching import Launch, alive, parent, until
from tests.integration.elastic.machines import Machines, Names

PROGRAM = Path(books.__file__).with_name("learner.py")
SAMPLES, EPOCH, EPOCHS = 195, 13, 30
STEPS = EPOCH * EPOCHS
PACE = 0.015
"""Seconds a step takes as long as anything happens."""
OPTIONS = ("--max-np", "4", "--blacklist-cooldown-range", "1", "2", "--heartbeat-timeout", "4", "--start-timeout", "6")
PATIENCE = 120.0
GONE = 20.0
"""Seconds in which those must have ended whose launcher is gone, cut off or not."""
MARK = "SPRINGTIDE_ROUND"
"""A variable by which all processes of a round are known."""
AWKWARD = ("Traceback", "never retrieved", "Exception ignored", "Fatal Python error")


@dataclass
class Result:
    seed: int
    world: str
    acts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(schedule.ACTS | schedule.CABLES, 0))
    launchers: int = 0
    workers: int = 0
    generations: int = 0
    started_over: int = 0
    steps: int = 0
    """That were done, by all ranks and also in vain."""
    again: int = 0
    """Steps that were done more than once."""
    samples: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)
    text: str = field(default="", repr=False)


class Round:
    def __init__(self, seed: int, folder: Path, *, cables: bool) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.result = Result(seed, "machines" if cables else "names")
        self.plan = schedule.drawn(self.chance, cables=cables)
        self.world: Names = Machines(folder) if cables else Names(folder)
        self.launches: list[Launch] = []
        self.script = folder / "discover.sh"
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._known: list[dict[str, int]] = []
        self._stopped: set[int] = set()

    def play(self) -> Result:
        began = time.monotonic()
        (self.folder / "slow").touch()
        self.resize()
        self.launch()
        for act in self.plan.acts:
            self.pass_time(act.after)
            if self.launches[-1].process.poll() is None and self.strike(act):
                self.result.acts[act.what] += 1
        while self._later:
            self.pass_time(max(min(self._later)[0] - time.monotonic(), 0))
        (self.folder / "slow").unlink()
        self.list({self.world.hosts[0]: 2, self.world.hosts[1]: 1})
        with suppress(subprocess.TimeoutExpired):
            self.launches[-1].process.wait(PATIENCE)
        self.result.seconds = round(time.monotonic() - began, 1)
        self.judge()
        return self.result

    def pass_time(self, seconds: float) -> None:
        until_then = time.monotonic() + seconds
        while self._later and min(self._later, key=lambda each: each[0])[0] <= until_then:
            due = min(self._later, key=lambda each: each[0])
            self._later.remove(due)
            time.sleep(max(due[0] - time.monotonic(), 0))
            due[1]()
        time.sleep(max(until_then - time.monotonic(), 0))

    def afterwards(self, seconds: float, what: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + seconds, what))

    # The launcher and its hosts

    @property
    def folders(self) -> list[Path]:
        return [self.folder / f"launch.{number}" for number in range(len(self.launches))]

    def launch(self) -> None:
        folder = self.folder / f"launch.{len(self.launches)}"
        folder.mkdir()
        plan = self.plan
        program = [
            sys.executable, str(PROGRAM), str(folder), "--epochs", str(EPOCHS), "--seed", str(self.result.seed),
            "--commit", str(plan.commit), "--loads", str(plan.loads), "--pause", str(PACE),
            "--slow", str(self.folder / "slow"),
        ]  # fmt: skip
        if plan.checkpoint:
            program += ["--checkpoint", str(self.folder / "checkpoints")]
        least = str(plan.least)
        size = ["-np", least, "--min-np", least, "--verbose"]
        arguments = [*size, *OPTIONS, "--host-discovery-script", str(self.script), *program]
        environment = {MARK: str(self.folder), **self.world.environment}
        self.launches.append(Launch(folder, arguments, environment, inside=self.world.inside))

    def write(self, body: str) -> None:
        new = self.folder / "discover.new"
        new.write_text(f"#!/bin/sh\n{body}\n")
        new.chmod(0o755)
        new.rename(self.script)

    def list(self, slots: dict[str, int]) -> None:
        self._known.append(slots)
        self.write(_printed(slots))

    def resize(self) -> None:
        self.list(schedule.listing(self.chance, self.world.hosts, self.plan.least))

    # What happens

    def strike(self, act: Act) -> bool:
        with suppress(ProcessLookupError, FileNotFoundError):
            return self._strike(act)
        return False

    def _strike(self, act: Act) -> bool:  # noqa: C901 - one line for each
        match act.what:
            case "resize":
                self.resize()
            case "kill a newcomer":
                return self.kill_newcomer(act)
            case "pause the launcher":
                self.pause(self.launches[-1].process.pid, act.lasts)
            case "kill the launcher":
                self.launches[-1].process.kill()
                self.launches[-1].process.wait()
                self.launch()
                self.go_on()
            case "cut a cable" | "part two machines":
                self.cut(act)
            case "the script fails":
                self.misbehave("echo the server is away >&2; exit 1", act)
            case "the script prints nonsense":
                self.misbehave(
                    self.chance.choice(("echo host-b:x", "echo 'Error: no route'", "printf '\\000\\001'")), act
                )
            case "the script repeats itself":
                self.misbehave(f"{_printed(self._known[-1])}\n{_printed(self._known[-1])}", act)
            case "the script flaps":
                self.misbehave(self.flapping(), act)
            case "the script hangs":
                self.misbehave("sleep 60", act)
            case _:
                return self.strike_process(act)
        return True

    def strike_process(self, act: Act) -> bool:
        ranks = sorted(pid for pid in self.launches[-1].pids().values() if alive(pid))
        if not ranks:
            return False
        rank = ranks[act.number % len(ranks)]
        match act.what:
            case "kill a rank":
                os.kill(rank, signal.SIGKILL)
            case "kill an agent":
                os.kill(parent(rank), signal.SIGKILL)
            case "stop a rank":
                os.kill(rank, signal.SIGSTOP)
            case "stop an agent":
                self._stopped.add(agent := parent(rank))
                os.kill(agent, signal.SIGSTOP)
            case "pause a rank":
                self.pause(rank, act.lasts)
        return True

    def kill_newcomer(self, act: Act) -> bool:
        """Somewhere between its first line and its first step."""
        launch = self.launches[-1]
        before = set(launch.pids().values())
        self.resize()
        with suppress(AssertionError):
            newcomers = until(lambda: set(launch.pids().values()) - before, "a newcomer", patience=2)
            self.pass_time(act.number % 10 * 0.05)
            os.kill(min(newcomers), signal.SIGKILL)
            return True
        return False

    def pause(self, pid: int, seconds: float) -> None:
        os.kill(pid, signal.SIGSTOP)
        self.afterwards(seconds, lambda: _go_on(pid))

    def go_on(self) -> None:
        """Nobody is left who would wake agents that were stopped, as their launcher does at its end."""
        for agent in self._stopped:
            _go_on(agent)
        self._stopped.clear()

    def cut(self, act: Act) -> None:
        machines = self.world
        assert isinstance(machines, Machines)
        number = 1 + act.number % 2
        if act.what == "cut a cable":
            machines.cut(number)
            self.afterwards(act.lasts, lambda: machines.mend(number))
        else:
            machines.part()
            self.afterwards(act.lasts, machines.join)

    def misbehave(self, body: str, act: Act) -> None:
        self.write(body)
        self.afterwards(act.lasts, lambda: self.write(_printed(self._known[-1])))

    def flapping(self) -> str:
        """Now this list, now that one."""
        one, other = (schedule.listing(self.chance, self.world.hosts, self.plan.least) for _ in range(2))
        flag = self.folder / "flag"
        return f"if rm {flag} 2>/dev/null; then\n{_printed(one)}\nelse\ntouch {flag}\n{_printed(other)}\nfi"

    # What became of it

    def judge(self) -> None:
        result, last = self.result, self.launches[-1]
        faults = result.violations
        if last.process.poll() is None:
            faults.append("it does not end")
        elif last.process.returncode:
            faults.append(f"it ended with code {last.process.returncode}")
        entries = books.read(self.folders)
        faults += books.faults(books.counted(entries), STEPS, EPOCHS, SAMPLES)
        faults += books.unequal(books.results(self.folders), learned_alone(self.folder / "alone", result.seed))
        with suppress(AssertionError):
            until(lambda: not list(left_over(self.folder)), "nobody is left", patience=GONE)
        faults += [f"left behind: {words}" for words in left_over(self.folder)]
        result.text = "\n".join((*(launch.text for launch in self.launches), self.world.words.read_text()))
        faults += [f"{word} in the output" for word in AWKWARD if word in result.text]
        done = books.attempts(entries)
        result.launchers = len(self.launches)
        result.workers = sum(len(launch.pids()) for launch in self.launches)
        result.generations = result.text.count("tiderun: generation ")
        result.started_over = result.text.count("training starts over")
        result.steps = sum(len(each) for each in done.values())
        result.again = sum(len(each) > 1 for each in done.values())
        result.samples = sum(len(entry.samples) for each in books.counted(entries).values() for entry in each)

    def close(self) -> None:
        for launch in self.launches:
            launch.close()
        for pid in [int(words.split()[0]) for words in left_over(self.folder)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.world.close()


def learned_alone(folder: Path, seed: int) -> dict[str, Any]:
    folder.mkdir()
    command = [sys.executable, str(PROGRAM), str(folder), "--epochs", str(EPOCHS), "--seed", str(seed)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    (result,) = books.results([folder])
    return result


def left_over(folder: Path) -> Iterator[str]:
    """Processes of the round: their number and their words."""
    mark = f"{MARK}={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0") and alive(int(entry.name)):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                yield f"{entry.name} {words}"


def _printed(slots: dict[str, int]) -> str:
    return "\n".join(f"echo {host}:{count}" for host, count in slots.items())


def _go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
