# SPDX-License-Identifier: Apache-2.0
"""What a cluster with nodes has beside its server: the pods' network, and an agent for each node.

Imported when the server is on its way, because the Kubernetes client and the certificate library take as long as it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from datetime import datetime

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.local.datadir import LOOPBACK, DataDir
from springtide.local.network import holders
from springtide.local.runtime import isolation
from springtide.local.supervisor import node_specs, nodes, readiness
from springtide.local.supervisor.agents import Agents
from springtide.local.supervisor.endings import Ending
from springtide.local.supervisor.failures import FailedError
from springtide.local.supervisor.settings import Nodes

logger = logging.getLogger(__name__)

_MORE = " (tide doctor knows more)"
_PASSING = (errors.Unreachable, errors.ServerError, errors.TooManyRequests, errors.Conflict, errors.NotFound)
_SOON, _AGAIN = 0.1, 1.0
_SILENCE = 1.0
"""Seconds after which we say that we wait for pods."""
_READY = 20.0
"""Seconds that nodes get to be ready before `tide up` says that they are not."""


class Machine:
    def __init__(self, directory: DataDir, wanted: Nodes, port: int) -> None:
        self._directory, self._wanted = directory, wanted
        self._findings = isolation.probe() if wanted.isolation == "auto" else isolation.Findings(())
        self._default = node_specs.default(socket.gethostname())
        self._agents = Agents(directory, f"https://{LOOPBACK}:{port}", self._arguments())
        self._client: Client | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = ""

    async def prepare(self) -> None:
        """While the server starts: agents take as long as it to start, and wait for it and for their nodes."""
        for node in self._expected():
            await self._agents.start(node)
        if self._has_network:
            self._tasks.append(asyncio.create_task(self._keep_network()))

    async def start(self, since: datetime) -> list[str]:
        """With the server up: returns when the nodes are ready. What does not work, in sentences."""
        client = self._client = await Client.connect(str(self._directory.kubeconfig))
        await self._ensure_nodes(client)
        self._tasks.append(asyncio.create_task(self._keep_nodes(client)))
        late = await readiness.wait(client, since, _READY)
        notes = [f"node {name} is not ready; its agent's log is {self._log(name)}" for name in late]
        return notes + await self._shortcomings()

    async def end(
        self, ending: Ending, next_ending: Callable[[], Awaitable[Ending]], waiting: Callable[[int], None]
    ) -> None:
        """All agents, and with them the pods unless they are kept. Another ending may make haste meanwhile."""
        await self._cancel()
        if ending.keep_pods:
            await self._agents.leave()
        else:
            patience = asyncio.get_running_loop().call_later(_SILENCE, lambda: waiting(self._agents.living_pods()))
            await self._end_pods(ending, next_ending)
            patience.cancel()
            if self._has_network:
                await self._end_network()
        if self._client is not None:
            await self._client.close()

    async def _ensure_nodes(self, client: Client) -> None:
        """However often the server dies meanwhile."""
        while True:
            try:
                await nodes.ensure_nodes(client, self._wanted.wanted, self._default)
                return
            except _PASSING as error:
                logger.info("cannot make the nodes yet: %s", error)
            except errors.ApiError as error:
                raise FailedError(f"the nodes cannot be made: {error}") from None
            await asyncio.sleep(_SOON)

    async def _end_network(self) -> None:
        if self._directory.is_still_there():
            with contextlib.suppress(holders.HolderError, OSError):
                await holders.ensure(self._directory.path)  # one that is only starting could not be told to end
        await holders.end(self._directory.path)

    async def _end_pods(self, ending: Ending, next_ending: Callable[[], Awaitable[Ending]]) -> None:
        work = asyncio.create_task(self._agents.end())
        while not work.done() and ending.grace != 0:
            haste = asyncio.ensure_future(next_ending())
            await asyncio.wait([work, haste], timeout=ending.grace, return_when=asyncio.FIRST_COMPLETED)
            if not haste.done():  # the pods are gone, or their time is over
                haste.cancel()
                break
            ending = haste.result()
        if not work.done():
            work.cancel()
            await self._agents.end_now()
        await asyncio.gather(work, return_exceptions=True)

    @property
    def _has_network(self) -> bool:
        return self._findings.isolation == "namespaces"

    async def _shortcomings(self) -> list[str]:
        """What pods cannot do on this machine that they could do elsewhere."""
        if self._trouble:
            return [self._trouble]
        if not self._has_network:
            refused = [finding for finding in self._findings.missing if finding.name in isolation.NEEDED]
            why = f": {refused[0].title}: {refused[0].why}" if refused else ""
            return [f"pods share this machine's network and files{why}{_MORE}"]
        info = await holders.settled(self._directory.path)
        if not info:
            log = self._directory.network / "holder.log"
            return [f"the pods' network is not up yet, and pods wait for it; its log is {log}"]
        if info["uplink"] == "none":
            return [f"pods reach each other, but no other machines: {info['why']}{_MORE}"]
        return []

    def _expected(self) -> set[str]:
        """The nodes there will be, as far as can be told without the server; those that are not will be ended."""
        wanted = {node["metadata"]["name"] for node in self._wanted.wanted}
        wanted |= {path.name for path in self._directory.nodes.glob("*")}
        return wanted or {self._default["metadata"]["name"]}

    async def _keep_network(self) -> None:
        while True:
            try:
                await holders.keep(self._directory.path)
            except (holders.HolderError, OSError) as error:
                self._trouble = str(error)
                logger.warning("%s", error)
            await asyncio.sleep(_AGAIN)

    async def _keep_nodes(self, client: Client) -> None:
        agents = self._agents
        while True:
            try:
                left = agents.left() | self._expected()
                await nodes.keep_nodes(client, agents.start, agents.stop, agents.kill, left)
            except Exception:  # whatever it is: nodes that nobody keeps would be the greater harm
                logger.exception("keeping nodes broke; starting it again")
            await asyncio.sleep(_AGAIN)

    def _arguments(self) -> list[str]:
        wanted = self._wanted
        arguments = ["--isolation", self._findings.isolation]
        arguments += ["--strict-resources"] if wanted.strict_resources else []
        return arguments + ([] if wanted.fake_gpus is None else ["--fake-gpus", str(wanted.fake_gpus)])

    def _log(self, node: str) -> str:
        return str(self._directory.nodes / node / "agent.log")

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
