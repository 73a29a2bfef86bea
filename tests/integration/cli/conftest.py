# SPDX-License-Identifier: Apache-2.0
"""`tide` as a user runs it: a process of its own, in a home directory of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from springtide.local.datadir import DataDir
from springtide.local.network.messages import Conversation, Refused
from springtide.local.supervisor import leftovers

Finished = subprocess.CompletedProcess[str]


class Tide:
    """Runs commands. Every cluster that is still up at the end of the test is killed, with what outlives it."""

    def __init__(self, home: Path, program: list[str], environment: dict[str, str], user: int | None = None) -> None:
        self.home = home
        self.clusters = home / ".local/share/springtide/clusters"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # tide is on it
        self.environment = {"PATH": path, "HOME": str(home), **environment}
        self._program = program
        self._user = user

    def place(self, name: str = "springtide") -> DataDir:
        return DataDir(self.clusters / name)

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._program, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.home,
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
        )

    def run(self, *args: str) -> Finished:
        with self.start(*args) as process:
            out, err = process.communicate(timeout=150)
        assert "Traceback" not in out + err
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def ok(self, *args: str) -> str:
        finished = self.run(*args)
        assert finished.returncode == 0, finished
        assert not finished.stderr
        return finished.stdout

    def error(self, *args: str) -> str:
        finished = self.run(*args)
        assert finished.returncode == 1, finished
        assert finished.stderr.startswith("Error: ")
        return finished.stderr

    def kill(self, place: DataDir) -> None:
        if process := place.process():
            os.kill(process, signal.SIGKILL)
            while place.is_running():
                time.sleep(0.01)

    def kill_all(self) -> None:
        # Unlike a glob, a walk does not mind directories of pods that go meanwhile.
        for directory in [Path(path) for path, _, files in os.walk(self.home) if "lock" in files]:
            place = DataDir(directory)
            self.kill(place)
            end_rest(place)


def end_rest(place: DataDir) -> None:
    """Pods and the network holder, which do not go with the rest."""
    leftovers.kill(place)
    with (
        contextlib.suppress(OSError, Refused),
        contextlib.closing(Conversation(str(place.network / "holder.sock"), 5.0)) as holder,
    ):
        holder.ask({"do": "end"})


@contextmanager
def in_home(home: Path) -> Iterator[Tide]:
    tide = Tide(home, [sys.executable, "-m", "springtide.cli"], {})
    yield tide
    tide.kill_all()


@pytest.fixture
def tide(tmp_path: Path) -> Iterator[Tide]:
    (tmp_path / "home").mkdir()
    with in_home(tmp_path / "home") as tide:
        yield tide
