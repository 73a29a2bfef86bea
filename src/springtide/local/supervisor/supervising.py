# SPDX-License-Identifier: Apache-2.0
"""`tide up`, once it has its settings: the process that starts, restarts and stops all the others.

    supervisor ─┬─ server            dies with the supervisor
                ├─ node agents       die with the supervisor
                ├─ operator          dies with the supervisor
                └─ netd              outlives it, as the pods' shims do

The supervisor uses only the Kubernetes API and imports nothing of the server.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from springtide.local.datadir import BACKLOG, LOOPBACK, DataDir
from springtide.local.supervisor.endings import Ending
from springtide.local.supervisor.serving import Server
from springtide.local.supervisor.settings import Nodes, ServerSettings, Settings
from springtide.local.supervisor.signals import Endings

if TYPE_CHECKING:
    from springtide.local.supervisor.nodes.machine import Machine
    from springtide.local.supervisor.operator import Operator


@dataclass(frozen=True, slots=True)
class Report:
    """The state of a cluster that is up."""

    port: int
    moved_from: int | None = None
    """The port that was taken."""
    notes: tuple[str, ...] = ()
    """What does not work on this machine, or not yet."""


class Audience(Protocol):
    """Receives the progress messages."""

    def up(self, report: Report) -> None:
        """The cluster is up."""

    def waiting(self, pods: int) -> None:
        """The cluster is shutting down and waits for so many pods."""


async def supervise(settings: Settings, audience: Audience) -> None:
    """Runs until a shutdown is requested.

    InUseError, OSError, or FailedError and DeadError from the server, when it does not start.
    """
    directory = DataDir(settings.data_dir)
    directory.acquire()
    try:
        endings = Endings(directory)
        endings.listen()
        with _bound(settings) as listener:
            await _Cluster(settings, directory, endings, audience).run(listener)
    finally:
        directory.release()


def _bound(settings: Settings) -> socket.socket:
    """Binds another port if the usual one is taken. Only binding can tell: other clusters start at the same time."""
    try:
        return socket.create_server((LOOPBACK, settings.port), backlog=BACKLOG)
    except OSError as error:
        if not settings.may_move or error.errno != errno.EADDRINUSE:
            raise
    return socket.create_server((LOOPBACK, 0), backlog=BACKLOG)


def _operator(directory: DataDir, port: int) -> Operator:
    """Imported when all else is up: jobs wait for the operator as objects."""
    from springtide.local.supervisor.operator import Operator  # noqa: PLC0415

    return Operator(directory, f"https://{LOOPBACK}:{port}")


class _Cluster:
    def __init__(self, settings: Settings, directory: DataDir, endings: Endings, audience: Audience) -> None:
        self._settings, self._directory, self._endings, self._audience = settings, directory, endings, audience
        self._began = datetime.now(UTC)
        self._looking: asyncio.Task[Machine] | None = None
        self._operator: Operator | None = None

    async def run(self, listener: socket.socket) -> None:
        port = listener.getsockname()[1]
        server = Server(self._server_settings(), listener)
        if self._settings.nodes is not None:
            self._looking = asyncio.create_task(self._look(self._settings.nodes, port))
        work = asyncio.create_task(self._bring_up(server, port))
        asked = asyncio.create_task(self._endings.next())
        # A cluster that cannot be kept up leaves its pods running: a failure of ours must not end them.
        ending = Ending(keep_pods=True)
        try:
            await asyncio.wait([work, server.task, asked], return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not server.task.done():
                work.result()
                await asyncio.wait([server.task, asked], return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                ending = asked.result()
            if server.task.done():
                server.task.result()
        finally:
            asked.cancel()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            if self._operator is not None:  # before the pods: their end would look like failures of their jobs
                await self._operator.end()
            await self._end_machine(ending)
            await server.end()

    async def _bring_up(self, server: Server, port: int) -> None:
        machine = await asyncio.shield(self._looking) if self._looking is not None else None
        if machine is not None:
            await machine.prepare()
        await server.up.wait()
        notes = [*server.notes, *(await machine.start(self._began) if machine is not None else ())]
        moved_from = self._settings.port if port != self._settings.port != 0 else None
        self._audience.up(Report(port, moved_from, tuple(notes)))
        if machine is not None and self._settings.operator:
            self._operator = _operator(self._directory, port)

    async def _end_machine(self, ending: Ending) -> None:
        """Also for a machine that is still being probed: pods of an earlier `tide up` may run on it."""
        if self._looking is None:
            return
        await asyncio.wait([self._looking])
        if self._looking.exception() is None:
            await self._looking.result().end(ending, self._endings.next, self._audience.waiting)

    async def _look(self, nodes: Nodes, port: int) -> Machine:
        """Imports modules and probes the machine in another process while the server starts."""
        from springtide.local.runtime import isolation  # noqa: PLC0415

        wanted = isolation.probe if nodes.isolation == "auto" else lambda: isolation.Findings(())
        probing = asyncio.get_running_loop().run_in_executor(None, wanted)
        from springtide.local.supervisor.nodes.machine import Machine  # noqa: PLC0415

        return Machine(self._directory, nodes, await probing, port, operator=self._settings.operator)

    def _server_settings(self) -> ServerSettings:
        settings, nodes = self._settings, self._settings.nodes
        network = nodes is not None and nodes.isolation != "none"
        return ServerSettings(
            str(settings.data_dir),
            settings.name,
            -1,
            -1,
            audit=settings.audit,
            verbose=settings.verbose,
            nodes=nodes is not None,
            holder=str(self._directory.network / "holder.sock") if network else "",
            strict_resources=nodes.strict_resources if nodes else False,
            scheduler_names=nodes.scheduler_names if nodes else (),
            accept_loss=settings.accept_loss,
            flags=settings.flags,
        )
