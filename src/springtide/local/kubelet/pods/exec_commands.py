# SPDX-License-Identifier: Apache-2.0
"""Commands that the agent itself runs in a container, for probes and hooks: short, and only their outcome matters."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from springtide.local.runtime.shim_client import Shim

OUTPUT = 10 * 1024
"""Bytes of output that are kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    output: str


class TimedOut(Exception):
    """The command exceeded its timeout and was killed."""


async def run(shim: Shim, container: str, argv: Sequence[str], timeout: float | None = None) -> Outcome:
    """Run a command; the outcome has stdout and stderr together. ShimError when the command cannot be started."""
    with ExitStack() as stack:
        output = _Output()
        stack.callback(output.close)
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            execution = await shim.exec(container, list(argv), [nothing, output.writer, output.writer])
        finally:
            os.close(nothing)
            output.close_writer()
        try:
            code = await asyncio.wait_for(execution.wait(), timeout)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(execution.pid, signal.SIGKILL)
            raise TimedOut(f'command timed out: "{shlex.join(argv)}" timed out after {timeout:g}s') from None
        return Outcome(code, output.text())


class _Output:
    """A pipe that is drained as it fills. Its end is not waited for: a daemon may hold it open forever."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._data = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._read)

    def text(self) -> str:
        self._read()
        return self._data.decode(errors="replace")

    def close_writer(self) -> None:
        os.close(self.writer)

    def close(self) -> None:
        self._loop.remove_reader(self._reader)
        os.close(self._reader)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while data := os.read(self._reader, 1 << 16):
                self._data = (self._data + data)[:OUTPUT]
            self._loop.remove_reader(self._reader)  # end of file
