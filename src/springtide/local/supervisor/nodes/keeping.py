# SPDX-License-Identifier: Apache-2.0
"""The part of node management that uses the Kubernetes API: creates the nodes and keeps an agent for each.

Imported after agents and server were started: loading the client takes as long as they do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Self

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import Obj
from springtide.local.supervisor.failures import FailedError
from springtide.local.supervisor.nodes import nodes, readiness
from springtide.local.supervisor.nodes.agents import Agents
from springtide.local.supervisor.settings import Nodes

logger = logging.getLogger(__name__)

_PASSING = (errors.Unreachable, errors.ServerError, errors.TooManyRequests, errors.Conflict, errors.NotFound)
_SOON, _AGAIN = 0.1, 1.0
_READY = 20.0
"""Seconds after which `tide up` reports nodes that are not ready."""


class Keeping:
    def __init__(self, client: Client) -> None:
        self._client = client

    @classmethod
    async def connect(cls, kubeconfig: Path) -> Self:
        return cls(await Client.connect(str(kubeconfig)))

    async def close(self) -> None:
        await self._client.close()

    async def ensure(self, wanted: Nodes, default: Obj) -> None:
        """Creates the nodes, with retries while the server restarts."""
        while True:
            try:
                await nodes.ensure_nodes(self._client, wanted.wanted, default)
                return
            except _PASSING as error:
                logger.info("cannot make the nodes yet: %s", error)
            except errors.ApiError as error:
                raise FailedError(f"the nodes cannot be made: {error}") from None
            await asyncio.sleep(_SOON)

    async def keep(self, agents: Agents, expected: Callable[[], set[str]]) -> None:
        """Runs until cancelled."""
        while True:
            try:
                left = agents.left() | expected()
                await nodes.keep_nodes(self._client, agents.start, agents.stop, agents.kill, left)
            except Exception:  # on any error: nodes without a keeper would be worse
                logger.exception("reconciling nodes failed; trying again")
            await asyncio.sleep(_AGAIN)

    async def late(self, since: datetime) -> list[str]:
        """Returns [] when all nodes are ready, or the nodes that are not ready after a timeout."""
        return await readiness.wait(self._client, since, _READY)
