# SPDX-License-Identifier: Apache-2.0
"""The server process, kept running: its startup message, and when to give up.

A server that reports why it cannot start is given up at the first start; one that dies without a message, after five
tries. A server that was up before is restarted indefinitely, and the log says why it does not start and what to do: its
pods keep running while the user frees disk space or restores a damaged file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from asyncio.subprocess import Process

import msgspec

from springtide.local.supervisor import failures
from springtide.local.supervisor.failures import DeadError, Up
from springtide.local.supervisor.processes import Kept, ended, leashed
from springtide.local.supervisor.settings import ServerSettings

logger = logging.getLogger(__name__)

_TRIES = 5
_MODULE = "springtide.local.supervisor.server"
_PATIENCE = 10.0
"""Seconds before it is killed; it stops in a fraction of one."""


class Server:
    def __init__(self, settings: ServerSettings, listener: socket.socket) -> None:
        self._settings, self._listener = settings, listener
        self._deaths = 0
        self._has_been_up = False
        self._why: Exception | None = None
        self._telling: asyncio.Task[None] | None = None
        self.up = asyncio.Event()
        """Set when the server has answered for the first time."""
        self.notes: tuple[str, ...] = ()
        """Functions that did not work then."""
        self._kept = Kept("the server", self._launch, self._died)

    @property
    def task(self) -> asyncio.Task[None]:
        """Completes with an exception when the server cannot be kept running."""
        return self._kept.task

    async def end(self) -> None:
        await self._kept.end(signal.SIGTERM, _PATIENCE)

    async def _launch(self) -> Process:
        reading, writing = os.pipe()
        # A loss while the cluster runs was not accepted by the user.
        accept_loss = self._settings.accept_loss and not self._has_been_up
        wanted = msgspec.structs.replace(
            self._settings, listener=self._listener.fileno(), tell=writing, accept_loss=accept_loss
        )
        try:
            arguments = [msgspec.json.encode(wanted).decode()]
            process = await leashed(_MODULE, arguments, pass_fds=(self._listener.fileno(), writing))
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._why = None
        self._telling = asyncio.get_running_loop().create_task(self._listen(reading))
        return process

    async def _listen(self, pipe: int) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb"))
        try:
            said = failures.heard(await reader.read())
        finally:
            transport.close()
        if isinstance(said, Up):
            self._deaths, self._has_been_up, self.notes = 0, True, said.notes
            self.up.set()
        else:
            self._why = said

    async def _died(self, code: int) -> None:
        if self._telling is not None:
            await self._telling
        self._deaths += 1
        if self._has_been_up:
            if self._why is not None:
                logger.warning("the server cannot start: %s", failures.with_advice(self._why, self._settings.data_dir))
            return
        if self._why is not None:
            raise self._why
        if self._deaths >= _TRIES:
            raise DeadError(f"the server died {_TRIES} times in a row while starting: {ended(code)}")
