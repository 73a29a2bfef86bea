# SPDX-License-Identifier: Apache-2.0
"""The node agents: one process per node, started and stopped for `nodes` and at the shutdown of the cluster.

An agent that dies is restarted and adopts its running pods. On SIGTERM an agent leaves its pods running, on SIGUSR1 it
stops them within their grace periods; pods that a dead or killed agent left are killed here.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from asyncio.subprocess import Process
from collections.abc import Collection, Sequence

from springtide.local.datadir import DataDir
from springtide.local.kubelet.mirror_pods import records
from springtide.local.kubelet.pods import interruptions
from springtide.local.runtime import shim_client
from springtide.local.supervisor import credentials, leftovers, log_files
from springtide.local.supervisor.processes import Kept, leashed

logger = logging.getLogger(__name__)

_MODULE = "springtide.local.kubelet"
_PATIENCE = 10.0
"""Seconds after which an agent that leaves its pods running is killed."""


class Agents:
    def __init__(self, directory: DataDir, server: str, arguments: Sequence[str], *, operator: bool) -> None:
        """`arguments` are passed to every agent; with an `operator`, one of the nodes has its mirror pods."""
        self._directory, self._server, self._arguments = directory, server, arguments
        self._operator = operator
        self._kept: dict[str, Kept] = {}

    def left(self) -> set[str]:
        """Nodes with pods of the previous supervisor."""
        return {pod.node for pod in leftovers.pods(self._directory)}

    # For `nodes.keep_nodes`

    async def start(self, node: str) -> None:
        if node not in self._kept:
            self._kept[node] = Kept(f"the agent of node {node}", lambda: self._launch(node))
            self._choose_host(self._kept)

    async def stop(self, node: str) -> None:
        """Stops the agent and its pods within their grace periods, and removes the node's files."""
        self._choose_host(self._kept.keys() - {node})
        if node in self._kept:
            await self._kept[node].end(signal.SIGUSR1, None)
        await self._clear(node)

    async def kill(self, node: str) -> None:
        """Kills agent and pods, as a machine failure would."""
        self._choose_host(self._kept.keys() - {node})
        if node in self._kept:
            await self._kept[node].end(signal.SIGKILL, None)
        await self._clear(node)

    def _choose_host(self, nodes: Collection[str]) -> None:
        """Choose the node that has the operator's mirror pods: it keeps them as long as it has an agent."""
        chosen = mirror_host(records.read_host(self._directory), nodes) if self._operator else ""
        try:
            records.write_host(self._directory, chosen)
        except OSError as error:  # a full disk; the next start of an agent tries again
            logger.warning("the operator's mirror pods stay where they are: %s", error)

    # For the shutdown of the cluster

    def living_pods(self) -> int:
        return leftovers.living(self._directory)

    async def leave(self) -> None:
        """Stops all agents; their pods keep running."""
        await asyncio.gather(*(kept.end(signal.SIGTERM, _PATIENCE) for kept in self._kept.values()))

    async def end(self) -> None:
        """Stops all agents, and all pods within their grace periods. May be cancelled, for `end_now`."""
        await asyncio.to_thread(self._interrupt)
        await asyncio.gather(*(kept.end(signal.SIGUSR1, None) for kept in self._kept.values()))
        await asyncio.to_thread(leftovers.kill, self._directory)

    async def end_now(self) -> None:
        await asyncio.to_thread(self._interrupt)
        await asyncio.gather(*(kept.end(signal.SIGKILL, None) for kept in self._kept.values()))
        await asyncio.to_thread(leftovers.kill, self._directory)

    def _interrupt(self) -> None:
        """Marks all running containers as ended by the shutdown, before any process is signalled."""
        for pod in leftovers.pods(self._directory):
            if leftovers.shim(pod.path) is not None:
                interruptions.mark(pod.path, interruptions.running(shim_client.left(pod.path)))

    async def _launch(self, node: str) -> Process:
        made = credentials.make(self._directory, node, self._server)
        known = ["--node", node, "--data-dir", str(self._directory.path), *made.arguments(), *self._arguments]
        with log_files.opened(self._directory.nodes / node / "agent.log") as log:
            return await leashed(_MODULE, known, log=log)

    async def _clear(self, node: str) -> None:
        self._kept.pop(node, None)
        await asyncio.to_thread(leftovers.kill, self._directory, node)
        await asyncio.to_thread(leftovers.remove, self._directory, node)


def mirror_host(present: str, nodes: Collection[str]) -> str:
    """The node for the mirror pods; empty without any node."""
    return present if present in nodes else min(nodes, default="")
