# SPDX-License-Identifier: Apache-2.0
"""A cluster in the background, and how it tells the command that started it that it is up, or why it is not.

The two are connected by a pipe. The cluster's supervisor writes "up PORT" and a line per thing that does not work here,
or what keeps the cluster from coming up, and closes its end. One that dies without a word closes it too. The log would
not do: the disk it is on may be full.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from springtide.local.supervisor.log_files import opened

_VARIABLE = "SPRINGTIDE_TELL"
_WAIT = 90.0  # for machines that are busy: a cluster that dies is heard of at once


class FailedError(Exception):
    """The cluster is not up; the message is what it said."""


class Starter:
    """The supervisor's view of the command that started it and waits."""

    def __init__(self, pipe: int) -> None:
        os.set_inheritable(pipe, False)
        self._pipe = pipe

    @classmethod
    def found(cls) -> Starter | None:
        """None for a cluster in the foreground."""
        number = os.environ.pop(_VARIABLE, "")
        return cls(int(number)) if number else None

    def told(self, text: str) -> None:
        try:
            os.write(self._pipe, text.encode())
        except BrokenPipeError:
            pass  # nobody waits any more
        finally:
            os.close(self._pipe)

    def told_up(self, port: int, notes: Sequence[str]) -> None:
        self.told("\n".join([f"up {port}", *notes]))


def start(arguments: Sequence[str], log: Path) -> tuple[int, list[str]]:
    """Start `tide` with these arguments and wait until it is up: the port, and notes on what does not work here.

    OSError or FailedError otherwise.
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
    except BaseException:  # Ctrl-C, too, must not leave a cluster behind that nobody waits for
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
    raise FailedError(f"the cluster did not start within {_WAIT:.0f} s")


def _last_words(log: Path, begin: int) -> str:
    with log.open("rb") as file:
        file.seek(begin)
        said = file.read().decode(errors="replace").strip()
    _, _, explanation = said.rpartition("Error: ")
    return f"{explanation or 'the cluster did not start'}\nIts log is {log}"
