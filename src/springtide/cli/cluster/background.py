# SPDX-License-Identifier: Apache-2.0
"""A cluster in the background, and its report to the command that started it: that it is up, or why not.

The two are connected by a pipe. The cluster's supervisor writes "up PORT" and a line per function that does not work
here, or why the cluster does not start, and closes its end. A supervisor that dies closes the pipe too. The log is no
substitute: its disk may be full.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from springtide.cli.speaking import shown
from springtide.local.supervisor.log_files import opened
from springtide.messages import text

_VARIABLE = "SPRINGTIDE_TELL"
_WAIT = 90.0  # for busy machines: the death of a cluster is noticed at once


class FailedError(Exception):
    """The cluster is not up; the message is the supervisor's."""


class Starter:
    """The supervisor's handle of the waiting command that started it."""

    def __init__(self, pipe: int) -> None:
        os.set_inheritable(pipe, False)
        self._pipe = pipe

    @classmethod
    def found(cls) -> Starter | None:
        """None for a cluster in the foreground."""
        number = os.environ.pop(_VARIABLE, "")
        return cls(int(number)) if number else None

    def told(self, said: str) -> None:
        try:
            os.write(self._pipe, said.encode())
        except BrokenPipeError:
            pass  # the command has exited
        finally:
            os.close(self._pipe)

    def told_up(self, port: int, notes: Sequence[str]) -> None:
        self.told("\n".join([f"up {port}", *notes]))


def start(arguments: Sequence[str], log: Path) -> tuple[int, list[str]]:
    """Starts `tide` with these arguments and waits until it is up: the port, and notes on what does not work here.

    Raises OSError or FailedError.
    """
    with opened(log) as file:
        begin = file.tell()
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "springtide.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                pass_fds=(writing,),
                env={**os.environ, _VARIABLE: str(writing)},
            )
        finally:
            os.close(writing)
    try:
        said = _heard(reading)
    except BaseException:  # Ctrl-C too must not leave a cluster behind
        process.terminate()
        raise
    finally:
        os.close(reading)
    if said.startswith("up "):
        port, *notes = said.removeprefix("up ").splitlines()
        return int(port), notes
    raise FailedError(said or _last_words(log, begin))


def _heard(pipe: int) -> str:
    said = b""
    deadline = time.monotonic() + _WAIT
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(pipe, 65536)
        if not part:
            return said.decode(errors="replace")
        said += part
    raise FailedError(shown(text("the cluster did not start within {seconds} s", seconds=f"{_WAIT:.0f}")))


def _last_words(log: Path, begin: int) -> str:
    with log.open("rb") as file:
        file.seek(begin)
        said = file.read().decode(errors="replace").strip()
    _, _, explanation = said.rpartition("Error: ")
    why = explanation or text("the cluster did not start")
    return shown(text("{why}\nIts log is {log}", why=why, log=log))
