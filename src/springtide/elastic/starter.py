# SPDX-License-Identifier: Apache-2.0
"""The process that starts the agents of a host: they themselves on this machine, else `kubectl exec` or ssh.

It stays as long as they do, and nothing depends on that: once an agent has called, its connection is what counts. What
the process says is of interest only when an agent never calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Final

_TRACE: Final = "+ "
"""How a shell begins a line that only says what it does; it would repeat our own command line."""

_LACKING: Final = "No module named 'springtide"
_ADVICE: Final = "install it there: pip install --no-deps springtide"


class StartError(Exception):
    """An agent did not call; says why."""


class Starter:
    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process, self._name = process, name
        self._said: deque[str] = deque(maxlen=20)
        self._ended = asyncio.get_running_loop().create_task(self._listen())

    @classmethod
    async def begun(cls, argv: Sequence[str], environment: Mapping[str, str]) -> Starter:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # what is typed at our terminal is for us
            )
        except OSError as error:
            raise StartError(f"{argv[0]}: {error.strerror}") from error
        return cls(process, PurePath(argv[0]).name)

    async def wait_for(self, settled: asyncio.Event, timeout: float) -> None:
        """Until an agent has called, or is no longer wanted. StartError when it does not call."""
        waiting = asyncio.get_running_loop().create_task(settled.wait())
        try:
            await asyncio.wait((waiting, self._ended), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if settled.is_set():
            return
        words = [line for line in self._said if line.strip() and not line.startswith(_TRACE)]
        words += [_ADVICE] if any(_LACKING in line for line in words) else []
        if self._ended.done():
            words.insert(0, f"{self._name} ended with code {self._process.returncode}")
        else:
            words.insert(0, f"nothing was heard of it for {timeout:g} s")
        raise StartError("; ".join(words))

    def end(self) -> None:
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)

    async def ended(self) -> None:
        await asyncio.shield(self._ended)

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        while data := await self._process.stdout.read(1 << 16):
            self._said += data.decode(errors="replace").splitlines()
        await self._process.wait()
