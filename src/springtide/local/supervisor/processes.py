# SPDX-License-Identifier: Apache-2.0
"""A child process that is kept running: started, restarted when it dies, and stopped on request.

Children have their own sessions, so that Ctrl-C in a terminal reaches only the supervisor, and die with it (see
`parent_death`), so that none is left when it is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable, Sequence
from typing import IO

from springtide.kube.workqueue import Backoff

logger = logging.getLogger(__name__)

BACKOFF = Backoff(base=0.1, limit=10.0)
STEADY = 10.0
"""Seconds after which a process counts as steady, so that its death does not count as consecutive."""


async def leashed(
    module: str, arguments: Sequence[str], *, log: IO[bytes] | None = None, pass_fds: Sequence[int] = ()
) -> Process:
    """Starts a module in a process that dies with this one. Without `log` it inherits stdout and stderr."""
    # -P: a module in the user's directory must not shadow one of ours.
    command = [
        sys.executable,
        "-P",
        "-m",
        "springtide.local.supervisor.parent_death",
        str(os.getpid()),
        module,
        *arguments,
    ]
    return await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=log, stderr=log, pass_fds=pass_fds, start_new_session=True
    )


class Kept:
    """`launch` starts the process each time; `died` gets its exit status and may raise to give up."""

    def __init__(
        self,
        name: str,
        launch: Callable[[], Awaitable[Process]],
        died: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self._launch, self._died = launch, died
        self._process: Process | None = None
        self._ending = asyncio.Event()
        self._farewell = signal.SIGTERM
        self.task = asyncio.get_running_loop().create_task(self._run(), name=name)
        """Completes with the process after `end`, and with an exception when `died` gives up."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def end(self, number: signal.Signals, patience: float | None) -> None:
        """Sends the signal and waits for the exit; kills the process after `patience` seconds."""
        self._farewell = number
        self._ending.set()
        self.send(number)
        _, late = await asyncio.wait([self.task], timeout=patience)
        if late:
            logger.warning("%s does not end; killing it", self.name)
            self.send(signal.SIGKILL)
            await asyncio.wait([self.task])

    async def _run(self) -> None:
        failures = 0
        loop = asyncio.get_running_loop()
        while not self._ending.is_set():
            began = loop.time()
            code = await self._once()
            if self._ending.is_set():
                return
            if self._died is not None:
                await self._died(code)
            failures = 1 if loop.time() - began > STEADY else failures + 1
            delay = BACKOFF.delay(failures - 1)
            logger.warning("%s %s; starting it again in %.3g s", self.name, ended(code), delay)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), delay)

    async def _once(self) -> int:
        try:
            self._process = await self._launch()
        except OSError as error:  # out of memory or processes: treated as an immediate exit
            logger.warning("%s cannot be started: %s", self.name, error)
            return 1
        if self._ending.is_set():  # requested while the process was being started
            self.send(self._farewell)
        return await self._process.wait()


def ended(code: int) -> str:
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
