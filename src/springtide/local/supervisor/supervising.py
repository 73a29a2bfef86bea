# SPDX-License-Identifier: Apache-2.0
"""`tide up`, once it has its settings: the process that starts, keeps and ends all the others.

    supervisor ─┬─ server            leashed: dies with the supervisor
                ├─ node agents       leashed
                └─ network holder    outlives it, as the pods' own shims do

It knows the cluster only through the Kubernetes API, like everybody else, and imports nothing of the server.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from springtide.local.datadir import BACKLOG, LOOPBACK, DataDir
from springtide.local.supervisor.endings import Endings
from springtide.local.supervisor.serving import Server
from springtide.local.supervisor.settings import ServerSettings, Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say about a cluster that is up."""

    port: int
    moved_from: int | None = None
    """The port that was taken."""
    notes: tuple[str, ...] = ()
    """What does not work on this machine, or not yet."""


async def supervise(settings: Settings, told: Callable[[Report], None]) -> None:
    """Runs until somebody wants it to end; `told` is called when the cluster is up.

    InUseError, OSError, or FailedError and DeadError from the server, when it does not come up.
    """
    directory = DataDir(settings.data_dir)
    directory.acquire()
    try:
        endings = Endings(directory)
        endings.listen()
        with _bound(settings) as listener:
            await _Cluster(settings, directory, endings).run(listener, told)
    finally:
        directory.release()


def _bound(settings: Settings) -> socket.socket:
    """On another port if the usual one is taken. Trying is the only way to know: others start at the same time."""
    try:
        return socket.create_server((LOOPBACK, settings.port), backlog=BACKLOG)
    except OSError as error:
        if not settings.may_move or error.errno != errno.EADDRINUSE:
            raise
    return socket.create_server((LOOPBACK, 0), backlog=BACKLOG)


class _Cluster:
    def __init__(self, settings: Settings, directory: DataDir, endings: Endings) -> None:
        self._settings, self._directory, self._endings = settings, directory, endings

    async def run(self, listener: socket.socket, told: Callable[[Report], None]) -> None:
        server = Server(self._server_settings(), listener)
        ending = asyncio.create_task(self._endings.next())
        try:
            if await _first(server.up.wait(), server.task, ending):
                port = listener.getsockname()[1]
                told(Report(port, self._settings.port if port != self._settings.port != 0 else None))
                await asyncio.wait([server.task, ending], return_when=asyncio.FIRST_COMPLETED)
            if server.task.done():
                server.task.result()
        finally:
            ending.cancel()
            await server.end()

    def _server_settings(self) -> ServerSettings:
        settings = self._settings
        return ServerSettings(
            str(settings.data_dir), settings.name, -1, -1, audit=settings.audit, verbose=settings.verbose
        )


async def _first(wanted: Coroutine[None, None, object], *others: asyncio.Task[Any]) -> bool:
    """Whether `wanted` came before any of the others ended."""
    task = asyncio.ensure_future(wanted)
    await asyncio.wait([task, *others], return_when=asyncio.FIRST_COMPLETED)
    came = task.done()
    task.cancel()
    return came
