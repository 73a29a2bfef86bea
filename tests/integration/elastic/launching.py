# SPDX-License-Identifier: Apache-2.0
"""A `tiderun` in a process of its own, whose hosts a test changes and whose output it reads."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

TRAINEE = Path(__file__).with_name("trainee.py")
PATIENCE = 40.0
T = TypeVar("T")


def until(ask: Callable[[], T | None], what: str, patience: float = PATIENCE) -> T:
    deadline = time.monotonic() + patience
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not yet: {what}")
        time.sleep(0.02)
    return answer


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


class Launch:
    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        inside: Sequence[str] = (),
    ) -> None:
        """`inside` is what the command begins with, for one that runs on another machine."""
        self.folder = folder
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [*inside, sys.executable, "-m", "springtide.elastic.launcher", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def saw(self, pattern: str, times: int = 1) -> list[re.Match[str]]:
        """Waits until so many lines are like this."""

        def found() -> list[re.Match[str]] | None:
            matches = [match for line in list(self.lines) if (match := re.search(pattern, line))]
            return matches if len(matches) >= times else None

        return self.until(found, f"{pattern} {times} times")

    def until(self, ask: Callable[[], T | None], what: str) -> T:
        """Waits for something that is to come before the end."""

        def asked() -> T | None:
            ended = self.process.poll() is not None
            if ended:
                self._reader.join(5)
            answer = ask()
            if not answer and ended:
                raise AssertionError(f"ended with {self.process.returncode} before {what}")
            return answer

        try:
            return until(asked, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def pids(self) -> dict[int, int]:
        """Those of ranks, by worker."""
        found = (re.search(r"pid (\d+) worker (\d+)", line) for line in list(self.lines))
        return {int(match[2]): int(match[1]) for match in found if match}

    def finish(self) -> int:
        (self.folder / "done").touch()
        return self.ended()

    def ended(self) -> int:
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end:\n{self.text}") from None
        self._reader.join(10)
        return code

    def close(self) -> None:
        pids = [pid for pid in self.pids().values() if alive(pid)]
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in pids:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self._reader.join(10)
        if self.process.stdout is not None:
            self.process.stdout.close()


class Elastic(Launch):
    """With a discovery script that prints a file of ours."""

    def __init__(
        self,
        folder: Path,
        hosts: str,
        *options: str,
        program: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.listing = folder / "hosts"
        self.script = folder / "discover.sh"
        self.hosts(hosts, folder)
        command = program or (sys.executable, str(TRAINEE), str(folder / "done"))
        super().__init__(folder, ["--host-discovery-script", str(self.script), *options, *command], environment)

    def hosts(self, hosts: str, folder: Path | None = None) -> None:
        """The script is exchanged as a whole, as the kubelet does it."""
        body = "".join(f"echo {host}\n" for host in hosts.split())
        self.write(f"#!/bin/sh\n{body}", folder)

    def write(self, script: str, folder: Path | None = None) -> None:
        new = (folder or self.folder) / "discover.new"
        new.write_text(script)
        new.chmod(0o755)
        new.rename(self.script)
