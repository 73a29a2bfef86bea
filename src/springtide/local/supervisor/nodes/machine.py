# SPDX-License-Identifier: Apache-2.0
"""What a cluster with nodes runs beside its server: the pod network, and an agent for each node.

Imported while the server starts, because loading the certificate library is slow. The agents are started next, and the
Kubernetes client is loaded while they start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING

from springtide.local.datadir import LOOPBACK, DataDir
from springtide.local.network import netd_client
from springtide.local.runtime import isolation
from springtide.local.supervisor.endings import Ending
from springtide.local.supervisor.nodes import node_specs
from springtide.local.supervisor.nodes.agents import Agents
from springtide.local.supervisor.operator import note_end
from springtide.local.supervisor.settings import Nodes

if TYPE_CHECKING:
    from springtide.local.supervisor.nodes.keeping import Keeping

logger = logging.getLogger(__name__)

_MORE = " (details: tide doctor)"
_AGAIN = 1.0
_SILENCE = 1.0
"""Seconds after which waiting for pods is reported."""


class Machine:
    def __init__(
        self, directory: DataDir, wanted: Nodes, findings: isolation.Findings, port: int, *, operator: bool
    ) -> None:
        self._directory, self._wanted, self._findings = directory, wanted, findings
        self._default = node_specs.default(socket.gethostname())
        self._agents = Agents(directory, f"https://{LOOPBACK}:{port}", self._arguments(), operator=operator)
        self._loading: asyncio.Task[type[Keeping]]
        self._keeping: Keeping | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = ""

    async def prepare(self) -> None:
        """Starts the agents while the server starts: they take as long, and wait for the server and their nodes."""
        note_end(self._directory, None)  # of an operator whose supervisor was killed
        for node in sorted(self._expected()):
            await self._agents.start(node)
        if self._has_network:
            self._tasks.append(asyncio.create_task(self._keep_network()))
        self._loading = asyncio.create_task(asyncio.to_thread(_keeping))

    async def start(self, since: datetime) -> list[str]:
        """Runs when the server is up, and returns when the nodes are ready. Returns the problems found, as messages."""
        keeping = self._keeping = await (await self._loading).connect(self._directory.kubeconfig)
        await keeping.ensure(self._wanted, self._default)
        self._tasks.append(asyncio.create_task(keeping.keep(self._agents, self._expected)))
        late, shortcomings = await asyncio.gather(keeping.late(since), self._shortcomings())
        return [f"node {name} is not ready; its agent's log is {self._log(name)}" for name in late] + shortcomings

    async def end(
        self, ending: Ending, next_ending: Callable[[], Awaitable[Ending]], waiting: Callable[[int], None]
    ) -> None:
        """Stops all agents, and the pods unless they are kept. A further request may speed up the shutdown."""
        await self._cancel()
        if ending.keep_pods:
            await self._agents.leave()
            if self._has_network and not await asyncio.to_thread(self._agents.living_pods):
                await self._end_network()  # no pod uses the network, and no later process may stop it
        else:
            patience = asyncio.get_running_loop().call_later(_SILENCE, lambda: waiting(self._agents.living_pods()))
            await self._end_pods(ending, next_ending)
            patience.cancel()
            if self._has_network:
                await self._end_network()
        if self._keeping is not None:
            await self._keeping.close()

    async def _end_network(self) -> None:
        if self._directory.is_still_there():
            with contextlib.suppress(netd_client.NetdError, OSError):
                await netd_client.ensure(self._directory.path)  # a netd that is still starting could not be stopped
        await netd_client.end(self._directory.path)

    async def _end_pods(self, ending: Ending, next_ending: Callable[[], Awaitable[Ending]]) -> None:
        work = asyncio.create_task(self._agents.end())
        while not work.done() and ending.grace != 0:
            haste = asyncio.ensure_future(next_ending())
            await asyncio.wait([work, haste], timeout=ending.grace, return_when=asyncio.FIRST_COMPLETED)
            if not haste.done():  # the pods are gone, or their grace period is over
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
        info = await netd_client.settled(self._directory.path)
        if not info:
            log = self._directory.network / "holder.log"
            return [f"the pods' network is not up yet, and pods wait for it; its log is {log}"]
        if info["uplink"] == "none":
            return [f"pods reach each other, but no other machines: {info['why']}{_MORE}"]
        return []

    def _expected(self) -> set[str]:
        """The expected nodes, as far as known without the server; agents of others are killed later."""
        wanted = {node["metadata"]["name"] for node in self._wanted.wanted}
        wanted |= {path.name for path in self._directory.nodes.glob("*")}
        return wanted or {self._default["metadata"]["name"]}

    async def _keep_network(self) -> None:
        while True:
            try:
                await netd_client.keep(self._directory.path)
            except (netd_client.NetdError, OSError) as error:
                self._trouble = str(error)
                logger.warning("%s", error)
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


def _keeping() -> type[Keeping]:
    from springtide.local.supervisor.nodes.keeping import Keeping  # noqa: PLC0415

    return Keeping
