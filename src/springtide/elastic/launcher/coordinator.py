# SPDX-License-Identifier: Apache-2.0
"""The launcher's connections: turns messages into events, and carries out actions.

All of it runs in one event loop, so events are handled one after the other. The decisions are in `state_machine`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from springtide.elastic.launcher import environment, event_file
from springtide.elastic.launcher.host_starter import HostStarter, Reports
from springtide.elastic.launcher.options import EVENT_LOG, Options
from springtide.elastic.launcher.output import NAMES, Output
from springtide.elastic.launcher.progress import AnnotationWriter, Moment, Progress, Throttle
from springtide.elastic.launcher.state_machine.event_log import EventLog
from springtide.elastic.launcher.state_machine.events import (
    AgentConnected,
    AgentLost,
    AgentSent,
    Event,
    Failed,
    Forgotten,
    HostsListed,
    Interrupted,
    RankLost,
    RankSent,
    StartFailed,
    StartGivenUp,
    Ticked,
)
from springtide.elastic.launcher.state_machine.machine import Machine
from springtide.elastic.launcher.state_machine.policies import failures
from springtide.elastic.launcher.state_machine.run_actions import Disconnect, Kill, Log, RunAction, Send, Start
from springtide.elastic.launcher.state_machine.settings import Settings
from springtide.elastic.launcher.state_machine.workers import Worker
from springtide.elastic.launcher.worker_links import WorkerLinks
from springtide.elastic.protocol import agent_messages, rank_messages, wire
from springtide.elastic.protocol.agent_messages import (
    FROM_AGENT,
    TO_AGENT,
    Beat,
    Bye,
    Exited,
    FromAgent,
    Program,
    Started,
    Taken,
)
from springtide.elastic.protocol.rank_messages import (
    FROM_RANK,
    TO_RANK,
    CheckpointKept,
    FromRank,
    ToRank,
)
from springtide.elastic.shared import addresses, listeners
from springtide.elastic.shared.addresses import LOOPBACK
from springtide.elastic.shared.unauthenticated import Unauthenticated

_TICK: Final = 0.1
_BEAT: Final = 1.0
_OPENING: Final = 10.0
"""Seconds a caller has to authenticate."""
_BACKLOG: Final = 1024
_AT_A_TIME: Final = 16
"""Connections accepted at once, before those beyond the limit are closed."""
_UNAUTHENTICATED: Final = 128
"""The limit of unauthenticated connections, in addition to two per worker."""
_FLUSHED: Final = 5.0
_SAVED: Final = 5.0
"""Seconds for saving the events of a run that failed."""
_ENDED: Final = 2.0
"""Seconds for agents to close their connections at the end."""


_HEARTBEAT: Final = TO_AGENT.encode(Beat())
_BYE: Final = TO_AGENT.encode(Bye())
"""The same bytes for agents and ranks."""


class Coordinator:
    def __init__(self, options: Options, output: Output, annotation: AnnotationWriter) -> None:
        self._options, self._output, self._annotation = options, output, annotation
        self._loop = asyncio.get_running_loop()
        settings = Settings(
            options.limits, options.elastic, options.cooldown, options.elastic_timeout, options.heartbeat_timeout
        )
        began = self._now()
        log = EventLog(settings, began) if options.event_log is not None else None
        self._machine = Machine(settings, began, log)
        self.run_state = self._machine.run_state
        self._ticked = self._now()
        self._secret = secrets.token_bytes(wire.SECRET)
        self._links: dict[int, WorkerLinks] = {}
        self._pace = Throttle()
        self._told = 0
        """The number of the newest membership change that a progress line has shown."""
        self._waited = False
        """A reason to wait was reported before training began."""
        self._words: dict[str, Any] = {}
        self._checkpoint: dict[str, int | None] = {}
        """The step of the newest checkpoint, where it is known; empty while there is none."""
        self._interfaces = options.interfaces
        self._servers: list[asyncio.Server] = []
        self._unauthenticated: Unauthenticated[asyncio.StreamWriter] = Unauthenticated()
        self._fault: BaseException | None = None
        """An error of the launcher itself, which ends the run."""
        self._connections: set[asyncio.Task[None]] = set()
        self._starts: set[asyncio.Task[None]] = set()
        reports = Reports(partial(self._spawn, self._starts), self._not_started, output.tell)
        self._starter = HostStarter(options, self._links, reports)

    # The run

    async def serve(self) -> int:
        """Runs until the run is over; returns its exit code."""
        self._spawn(self._starts, self._open())
        beat_at = 0.0
        try:
            while (code := self.run_state.exit_code) is None:
                await asyncio.sleep(_TICK)
                if self._fault is not None:
                    await self._save_events()
                    raise self._fault
                self._tick()
                if self._now() >= beat_at:
                    beat_at = self._now() + _BEAT
                    self._beat()
                    self._forget()
                self.report()
            await self._wait_for_output()
            if code and not self.run_state.interrupted:
                await self._save_events()
            # Last, because the message of a failed job ends with the last lines of its launcher's log.
            self._explain(code)
            return code
        finally:
            for server in self._servers:
                server.close()
            await self._abandon()

    def do(self, actions: Sequence[RunAction]) -> None:
        starts: dict[str, list[Worker]] = {}
        for action in actions:
            match action:
                case Start(worker):
                    self._links[worker.id] = WorkerLinks()
                    starts.setdefault(worker.host, []).append(worker)
                case Send(to, message):
                    self._send(to, message)
                case Kill(id_, number):
                    self._kill(id_, number)
                case Disconnect(id_):
                    self._drop(id_)
                case Log(text, detail):
                    if not detail or self._options.verbose:
                        self._output.tell(text)
        for host, workers in starts.items():
            self._spawn(self._starts, self._starter.start(host, workers))

    def handle(self, event: Event) -> None:
        self.do(self._machine.handle(event, self._now()))

    def listed(self, slots: dict[str, int]) -> None:
        self.handle(HostsListed(slots))
        self.report()

    def interrupted(self, number: signal.Signals) -> None:
        self.handle(Interrupted(number))

    def fail(self, why: str) -> None:
        self.handle(Failed(why))

    def watch(self, task: asyncio.Task[None]) -> None:
        """A task has ended. Its error ends the run, which would miss hosts or messages otherwise."""
        if not task.cancelled() and self._fault is None:
            self._fault = task.exception()

    def report(self) -> None:
        """Report progress if it has changed."""
        run_state, now = self.run_state, self._now()
        idle = tuple(run_state.idle(now))
        if not (run_state.began or idle or self._waited):
            return
        self._waited = True  # so that the end of the wait is reported, too
        progress = Progress(
            size=len(run_state.membership.members),
            hosts=tuple(run_state.hosts_in_use),
            listing=run_state.listing,
            words=self._words | self._checkpoint,
            training_hosts=run_state.training_hosts,
            idle=idle,
            changes=tuple(run_state.changes.last),
        )
        if self._pace.due(progress, now):
            moment = Moment(now, datetime.now(UTC))
            self._annotation.put(progress.written(moment))
            if run_state.began:
                self._output.print(progress.written(moment, after=self._told))
                self._told = run_state.changes.number

    def _now(self) -> float:
        return self._loop.time()

    def _tick(self) -> None:
        before, self._ticked = self._ticked, self._now()
        self.handle(Ticked(self._ticked - before))

    # Actions

    def _not_started(self, id_: int, why: str) -> None:
        self._links[id_].give_up()
        self.handle(StartFailed(id_, why))

    def _send(self, to: Sequence[int], message: ToRank) -> None:
        frame = TO_RANK.encode(message)
        for id_ in to:
            links = self._links.get(id_)
            if links is not None and links.rank is not None:
                links.rank.write(frame)

    def _kill(self, id_: int, number: int) -> None:
        links = self._links[id_]
        if links.agent is not None:
            links.agent.write(TO_AGENT.encode(agent_messages.Kill(int(number))))
            return
        links.give_up()
        self.handle(StartGivenUp(id_))

    def _drop(self, id_: int) -> None:
        links = self._links.get(id_)
        if links is None:
            return
        for writer in (links.rank, links.agent):
            if writer is not None:
                writer.write(_BYE)
                writer.close()
        links.give_up()

    def _beat(self) -> None:
        for links in self._links.values():
            for writer in (links.agent, links.rank):
                if writer is not None and not writer.is_closing():
                    writer.write(_HEARTBEAT)

    def _forget(self) -> None:
        """Drop workers that have ended: a run may have thousands, one after the other."""
        for id_ in [id_ for id_, links in self._links.items() if links.idle]:
            if self.run_state.forgettable(id_):
                self.handle(Forgotten(id_))
                del self._links[id_]

    # Connections

    async def _open(self) -> None:
        """Listen on the loopback interface only if all hosts are this machine; otherwise on the interfaces of the
        command line, or on all."""
        elsewhere = not all(await asyncio.gather(*map(self._starter.is_here, self._options.hosts)))
        if not elsewhere and self._options.script is None:
            self._interfaces = ("lo",)
        mine = [each for each in addresses.own(self._interfaces) if not addresses.is_loopback(each)]
        if elsewhere and self._interfaces and not mine:
            names = " and ".join(self._interfaces)
            self.fail(f"--network-interface: {names} has no address that other hosts could reach tiderun at")
            return
        opened = listeners.at([LOOPBACK, *mine], _BACKLOG) if self._interfaces else listeners.everywhere(_BACKLOG)
        for listener in opened:
            self._servers.append(await asyncio.start_server(self._accept, sock=listener, backlog=_AT_A_TIME))
            listener.listen(_BACKLOG)
        self._starter.listen_at(opened[0].getsockname()[1], self._interfaces)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for each in self._unauthenticated.add(writer, _UNAUTHENTICATED + 2 * len(self._links)):
            each.transport.abort()
        self._spawn(self._connections, self._connected(reader, writer))

    def _spawn(self, among: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        among.add(task)
        task.add_done_callback(among.discard)
        task.add_done_callback(self.watch)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_OPENING):
                bond = await wire.answer_stream(reader, writer, self._key_of)
            self._unauthenticated.remove(writer)
            if bond.opening.caller is wire.Caller.AGENT:
                await self._serve_agent(bond, reader, writer)
            else:
                await self._serve_rank(bond.opening.id, reader, writer)
        except (wire.RefusedError, asyncio.IncompleteReadError, OSError, TimeoutError):
            pass  # the caller has closed the connection, failed to authenticate, or sent invalid data
        finally:
            self._unauthenticated.remove(writer)
            writer.close()

    async def _key_of(self, opening: wire.Opening) -> bytes | None:
        links = self._links.get(opening.id)
        if links is None or opening.caller is wire.Caller.PEER:
            return None
        if opening.caller is wire.Caller.RANK:
            return self._secret
        await links.announced.wait()  # the connection may be faster than the line with the token
        return links.token or None

    async def _serve_agent(self, bond: wire.Bond, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        id_ = bond.opening.id
        links = self._links.get(id_)
        if links is None or links.token != bond.key:
            return
        if links.settled.is_set():
            self._token_used_twice(id_)
            return
        links.agent = writer
        writer.write(self._welcome(id_, bond))
        links.settled.set()
        self.handle(AgentConnected(id_))
        try:
            while True:
                message = FROM_AGENT.decode(await wire.receive_stream(reader))
                self._handle_agent(id_, links, message)
        finally:
            links.agent = None
            for stream in NAMES:
                self._output.lines(self.run_state.label(id_), stream, links.output.end(stream))
            links.closed.set()
            self.handle(AgentLost(id_, "was lost: the connection to its agent closed"))
            self.report()

    def _token_used_twice(self, id_: int) -> None:
        """Two agents used the same token, so one of them is not from this run; it is not known which."""
        why = "is rejected: the token of its agent was used twice"
        self.handle(AgentLost(id_, why))

    def _welcome(self, id_: int, bond: wire.Bond) -> bytes:
        worker = self.run_state.processes[id_].worker
        passed_on = {} if self._starter.known_here(worker.host) else environment.passed_on(os.environ)
        membership = self.run_state.membership
        staying = [each for each in membership.workers.values() if not each.leaving]
        own = {
            "TIDE_HOST": worker.host,
            "TIDE_SLOT": str(worker.slot),
            # What `elastic.size()` gives before the rank belongs to a generation.
            "TIDE_GENERATION": str(membership.generation),
            "TIDE_SIZE": str(len(staying)),
            "TIDE_LOCAL_SIZE": str(sum(each.host == worker.host for each in staying)),
        }
        if self._interfaces:
            own["TIDE_INTERFACES"] = ",".join(self._interfaces)
        program = Program(self._options.command, passed_on | own, self._starter.directory, self._secret)
        return TO_AGENT.encode(program.sealed(bond))

    def _handle_agent(self, id_: int, links: WorkerLinks, message: FromAgent | None) -> None:
        match message:
            case agent_messages.Output(stream, data):
                if stream not in NAMES:
                    raise wire.RefusedError(f"there is no stream {stream}")
                self._forward_output(id_, links, stream, data)
                self.handle(AgentSent(id_, Beat()))
            case Exited():
                self.handle(AgentSent(id_, message))
                self.report()
            case Started():
                self.handle(AgentSent(id_, message))
            case _:
                self.handle(AgentSent(id_, Beat()))

    def _forward_output(self, id_: int, links: WorkerLinks, stream: str, data: bytes) -> None:
        writer, size = links.agent, len(data)

        def taken() -> None:
            if writer is not None and not writer.is_closing():
                writer.write(TO_AGENT.encode(Taken(size)))

        def written() -> None:
            with contextlib.suppress(RuntimeError):  # the run may be over before all is written
                self._loop.call_soon_threadsafe(taken)

        self._output.lines(self.run_state.label(id_), stream, links.output.add(stream, data), written)

    async def _serve_rank(self, id_: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        links = self._links.get(id_)
        if links is None or links.rank is not None:
            raise wire.RefusedError("this rank is not expected")
        links.rank = writer
        try:
            while True:
                message = FROM_RANK.decode(await wire.receive_stream(reader))
                self._handle_rank(id_, message)
        finally:
            links.rank = None
            self.handle(RankLost(id_))

    def _handle_rank(self, id_: int, message: FromRank | None) -> None:
        match message:
            case None:
                self.handle(RankSent(id_, Beat()))
            case rank_messages.Progress(words):
                self._words = dict(words)
                self.handle(RankSent(id_, Beat()))
            case CheckpointKept(step):
                self._checkpoint = {"checkpoint": step}
                self.handle(RankSent(id_, message))
            case _:
                self.handle(RankSent(id_, message))

    # The end

    async def _wait_for_output(self) -> None:
        """Wait for the last output of ranks."""
        left = [links.closed.wait() for links in self._links.values() if links.agent is not None]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSHED):
                await asyncio.gather(*left)

    def _explain(self, code: int) -> None:
        failure = self.run_state.first_failure
        if code and failure is not None:
            for line in failures.last_words(failure, list(self._links[failure.id].output.last)):
                self._output.tell(line)

    async def _save_events(self) -> None:
        """Saves the events for a report, so that a test can replay the decisions."""
        path, log = self._options.event_log, self._machine.log
        if path is None or log is None:
            self._output.tell(f"the events of this run are not saved; to save those of the next, set {EVENT_LOG}=FILE")
        else:
            self._output.tell(await event_file.save(path, log.lines(), _SAVED))

    async def _abandon(self) -> None:
        for id_ in self._links:
            self._drop(id_)
        if self._starts:
            await asyncio.wait(self._starts, timeout=_ENDED)
        left = [*self._starts, *self._connections]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
