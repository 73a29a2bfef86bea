# SPDX-License-Identifier: Apache-2.0
"""The process that starts the agents of a host: the agent itself on this machine, else `kubectl exec` or ssh.

The process lives as long as the agents, and nothing depends on that: once an agent has connected, its connection
counts. The output of the process is of interest only when an agent does not connect.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from springtide.elastic.launcher import descriptors
from springtide.elastic.protocol import tokens

_TRACE: Final = "+ "
"""Prefix of a line of `sh -x`, which would repeat our own command line."""

_LONGEST_LINE: Final = 1 << 16
_LACKING: Final = "No module named 'springtide"
_NO_SUCH_COMMAND: Final = (126, 127)
_ADVICE: Final = "install Springtide there, in a checkout of it: pip install --no-deps ."


class StartError(Exception):
    """Why an agent did not connect."""

    def __init__(self, why: str, *, passing: bool = False) -> None:
        super().__init__(why)
        self.passing = passing
        """A later attempt may succeed: the host's name does not resolve yet, or the host does not listen yet."""


@dataclass(slots=True)
class Retries:
    """When to retry a host that does not answer yet, and when to log it. Pure."""

    seconds: float
    until: float = math.inf
    _next: float = 0.5
    _told: bool = False

    def begin(self, now: float) -> None:
        """Start the clock on the first call; time spent waiting for other starts does not count."""
        self.until = min(self.until, now + self.seconds)

    def over(self, now: float) -> bool:
        return now + self._next >= self.until

    def pause(self) -> float:
        pause, self._next = self._next, min(self._next * 1.5, 3.0)
        return pause

    def to_be_logged(self) -> bool:
        """Whether to log the retries: once, after a while."""
        if self._told or self._next < 1.0:
            return False
        self._told = True
        return True


class AgentStarter:
    def __init__(
        self, process: asyncio.subprocess.Process, name: str, announced: Callable[[Mapping[int, str]], None]
    ) -> None:
        self._process, self._name, self._announced = process, name, announced
        self._said: deque[str] = deque(maxlen=20)
        self._ended = asyncio.get_running_loop().create_task(self._listen())

    @classmethod
    async def begun(
        cls,
        argv: Sequence[str],
        environment: Mapping[str, str],
        unread: bytes = b"",
        *,
        announced: Callable[[Mapping[int, str]], None] = lambda _: None,
    ) -> AgentStarter:
        """`unread` is written to standard input, which no other user can read; `announced` is called with the tokens
        that agents print."""
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at our terminal reaches the launcher only
            )
        except OSError as error:
            raise StartError(f"{argv[0]}: {error.strerror}") from error
        descriptors.restore(process.pid)
        assert process.stdin is not None
        process.stdin.write(unread)
        process.stdin.close()
        return cls(process, PurePath(argv[0]).name, announced)

    async def wait_for(self, settled: asyncio.Event, timeout: float) -> None:
        """Waits until an agent has connected or is no longer wanted. StartError if the agent does not connect."""
        waiting = asyncio.get_running_loop().create_task(settled.wait())
        try:
            await asyncio.wait((waiting, self._ended), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if settled.is_set():
            return
        words = [line for line in self._said if line.strip() and not line.startswith(_TRACE)]
        if not self._ended.done():
            raise StartError("; ".join(("it did not connect in time", *words)))
        lacking = any(_LACKING in line for line in words)
        advice = [_ADVICE] if lacking else []
        passing = not lacking and self._process.returncode not in _NO_SUCH_COMMAND
        ended = f"{self._name} ended with code {self._process.returncode}"
        raise StartError("; ".join((ended, *words, *advice)), passing=passing)

    def end(self) -> None:
        if not self._ended.done():
            for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process handles SIGTERM only after SIGCONT
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)

    async def stay(self) -> None:
        """Waits for the process, and ends it when this task is cancelled."""
        try:
            await asyncio.shield(self._ended)
        finally:
            self.end()

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        while data := await self._process.stdout.read(_LONGEST_LINE):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take(line)
            rest = rest[-_LONGEST_LINE:]
        self._take(rest)
        await self._process.wait()

    def _take(self, line: bytes) -> None:
        """Keeps lines for messages, but never a token."""
        text = line.decode(errors="replace")
        announced = tokens.announced(text)
        if announced is None:
            self._said += text.splitlines()
        else:
            self._announced(announced)
