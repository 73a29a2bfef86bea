# SPDX-License-Identifier: Apache-2.0
"""Starts the agents of a host, and retries while the host may still answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from springtide.elastic.launcher import environment
from springtide.elastic.launcher.agent_commands import AgentCommands, Call
from springtide.elastic.launcher.agent_starter import AgentStarter, Retries, StartError
from springtide.elastic.launcher.options import Options
from springtide.elastic.launcher.state_machine.workers import Worker
from springtide.elastic.launcher.worker_links import WorkerLinks
from springtide.elastic.protocol import wire
from springtide.elastic.shared import addresses
from springtide.elastic.shared.addresses import LOOPBACK

_AT_ONCE: Final = 64
"""The limit of concurrent starts on other hosts."""
_HELD: Final = 5.0
"""Seconds after which a start no longer holds a place of that limit."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The callbacks of a start to the coordinator."""

    spawn: Callable[[Coroutine[Any, Any, None]], None]
    """Runs a task beside the start."""
    failed: Callable[[int, str], None]
    """Called with the reason when an agent did not connect."""
    tell: Callable[[str], None]


class HostStarter:
    def __init__(self, options: Options, links: Mapping[int, WorkerLinks], reports: Reports) -> None:
        self._timeout, self._links, self._reports = options.start_timeout, links, reports
        self._loop = asyncio.get_running_loop()
        self._commands = AgentCommands.given(
            options.command, os.environ, os.getcwd(), options.ssh_port, options.ssh_identity
        )
        self._here: dict[str, bool] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._listening = asyncio.Event()
        self._port, self._interfaces = 0, tuple[str, ...]()

    @property
    def directory(self) -> str:
        """The working directory of programs."""
        return self._commands.directory

    def listen_at(self, port: int, interfaces: tuple[str, ...]) -> None:
        """Where agents connect to. Nothing is started before this call."""
        self._port, self._interfaces = port, interfaces
        self._listening.set()

    async def start(self, host: str, workers: Sequence[Worker]) -> None:
        """Starts all agents of one host with one process; retries until their time is over."""
        await self._listening.wait()
        here = await self.is_here(host)
        retries, left = Retries(self._timeout), workers
        while left:
            errors = await self._attempt(host, left, here, retries)
            again = [] if here or retries.over(self._loop.time()) else [id_ for id_, e in errors.items() if e.passing]
            for id_, error in errors.items():
                if id_ not in again:
                    self._reports.failed(id_, str(error))
            left = [worker for worker in left if worker.id in again]
            if left:
                await self._pause(host, retries, errors[left[0].id])
        for worker in workers:
            self._links[worker.id].starting = False

    async def is_here(self, host: str) -> bool:
        if host not in self._here:
            self._here[host] = await asyncio.to_thread(addresses.is_own, host)
        return self._here[host]

    def known_here(self, host: str) -> bool:
        """The same, for a host with an earlier start."""
        return self._here.get(host, False)

    async def _attempt(
        self, host: str, workers: Sequence[Worker], here: bool, retries: Retries
    ) -> dict[int, StartError]:
        """The workers whose agents did not connect, with the reason."""
        try:
            command = await self._command(host, workers, here=here)
            async with contextlib.nullcontext() if here else self._room:
                retries.begin(self._loop.time())
                starter = await AgentStarter.begun(*command, announced=partial(self._announced, workers))
                self._reports.spawn(starter.stay())
                timeout = retries.until - self._loop.time()
                called = asyncio.gather(
                    *(starter.wait_for(self._links[worker.id].settled, timeout) for worker in workers),
                    return_exceptions=True,
                )
                await asyncio.wait((called,), timeout=_HELD)
        except StartError as error:
            return {worker.id: error for worker in workers}
        ends = await called
        if all(self._links[worker.id].agent is None for worker in workers):
            starter.end()
        pairs = zip(workers, ends, strict=True)
        return {worker.id: end for worker, end in pairs if isinstance(end, StartError)}

    def _announced(self, workers: Sequence[Worker], tokens: Mapping[int, str]) -> None:
        """An agent in a pod made its tokens itself, and printed them where only the launcher reads."""
        for worker in workers:
            if token := tokens.get(worker.id):
                self._links[worker.id].expect(token.encode())

    async def _pause(self, host: str, retries: Retries, error: StartError) -> None:
        if retries.to_be_logged():
            self._reports.tell(f"{host} does not answer yet, and is tried again: {error}")
        await asyncio.sleep(retries.pause())

    async def _command(
        self, host: str, workers: Sequence[Worker], *, here: bool
    ) -> tuple[tuple[str, ...], dict[str, str], bytes]:
        """Every attempt has its own tokens: a late agent of an earlier attempt cannot connect."""
        found = [LOOPBACK] if here else await asyncio.to_thread(addresses.towards, host, self._interfaces)
        if not here and self._interfaces and found == [LOOPBACK]:
            raise StartError(f"{' and '.join(self._interfaces)} has no address to be reached at from there")
        announcing = self._commands.announcing(here=here)
        tokens = {worker.id: "" if announcing else secrets.token_hex(wire.TOKEN) for worker in workers}
        for id_, token in tokens.items():
            self._links[id_].expect(token.encode())
        call = Call(tuple(found), self._port, tuple(tokens), tuple(tokens.values()))
        unread = self._commands.unread(call, here=here)
        if here:
            return self._commands.here(call), environment.kept(os.environ), unread
        return self._commands.elsewhere(host, call), dict(os.environ), unread
