# SPDX-License-Identifier: Apache-2.0
"""`tide up`, once it has its settings: the process that starts, keeps and ends all the others.

    supervisor ─┬─ server            leashed: dies with the supervisor
                ├─ node agents       leashed
                ├─ operator          leashed
                └─ network holder    outlives it, as the pods' own shims do

It knows the cluster only through the Kubernetes API, like everybody else, and imports nothing of the server.
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
    """What there is to say about a cluster that is up."""

    port: int
    moved_from: int | None = None
    """The port that was taken."""
    notes: tuple[str, ...] = ()
    """What does not work on this machine, or not yet."""


class Audience(Protocol):
    """Whoever started the cluster."""

    def up(self, report: Report) -> None:
        """The cluster is up."""

    def waiting(self, pods: int) -> None:
        """The cluster is to end, and so many pods take their time."""


async def supervise(settings: Settings, audience: Audience) -> None:
    """Runs until somebody wants it to end.

    InUseError, OSError, or FailedError and DeadError from the server, when it does not come up.
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
    """On another port if the usual one is taken. Trying is the only way to know: others start at the same time."""
    try:
        return socket.create_server((LOOPBACK, settings.port), backlog=BACKLOG)
    except OSError as error:
        if not settings.may_move or error.errno != errno.EADDRINUSE:
            raise
    return socket.create_server((LOOPBACK, 0), backlog=BACKLOG)


def _operator(directory: DataDir, port: int) -> Operator:
    """Nobody waits for it: jobs do, as objects. Imported when all the rest is up."""
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
        # A cluster that cannot be kept up leaves its pods running: they are more than our failure is worth.
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
            if self._operator is not None:  # before the pods: it would take their end for a failure of their jobs
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
        """Also one that was only being looked at: pods of an earlier `tide up` may run on it."""
        if self._looking is None:
            return
        await asyncio.wait([self._looking])
        if self._looking.exception() is None:
            await self._looking.result().end(ending, self._endings.next, self._audience.waiting)

    async def _look(self, nodes: Nodes, port: int) -> Machine:
        """Imports take their time: the server starts meanwhile, and a process tries what this machine allows."""
        from springtide.local.runtime import isolation  # noqa: PLC0415

        wanted = isolation.probe if nodes.isolation == "auto" else lambda: isolation.Findings(())
        probing = asyncio.get_running_loop().run_in_executor(None, wanted)
        from springtide.local.supervisor.nodes.machine import Machine  # noqa: PLC0415

        return Machine(self._directory, nodes, await probing, port)

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
