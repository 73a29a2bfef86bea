# SPDX-License-Identifier: Apache-2.0
"""The node's heartbeat: its Lease every ten seconds, its status at the beginning and every five minutes."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Patch
from springtide.kube.resources import LEASES, NODES, Key, Obj
from springtide.kube.workqueue import Backoff
from springtide.local.kubelet.node import registration
from springtide.local.kubelet.node.machine import Machine

logger = logging.getLogger(__name__)

RENEW = 10.0
STATUS = 300.0
RETRY = 1.0
SOON = Backoff(base=0.02, limit=1.0)
"""Between two lookups of a node that is about to be created, while a user waits for `tide up`."""


async def own_node(client: Client, name: str) -> Obj:
    """The node's object, as soon as it exists and has its index."""
    for tries in itertools.count():
        try:
            node = await client.find(NODES, Key("", name))
            if node is not None and registration.index_of(node) is not None:
                return node
            logger.info("waiting for node %s to be made and numbered", name)
        except errors.ApiError as error:
            logger.info("cannot read node %s yet: %s", name, error)
        await asyncio.sleep(SOON.delay(tries))
    raise AssertionError("unreachable: it counts for ever")


class Heartbeat:
    def __init__(self, client: Client, name: str, machine: Machine, resources: Callable[[Obj], dict[str, str]]) -> None:
        self._client = client
        self._name = name
        self._machine = machine
        self._resources = resources
        self._lease = Key("kube-node-lease", name)
        self._asked = asyncio.Event()
        self._node: Obj | None = None
        self._said: dict[str, str] = {}

    def report_soon(self) -> None:
        """Report soon: the node's capacity may have changed."""
        self._asked.set()

    async def run(self, port: int) -> None:
        """Run until cancelled. Every error of the server is retried: a node without heartbeat loses its pods."""
        reported = float("-inf")
        loop = asyncio.get_running_loop()
        while True:
            pause = RENEW
            try:
                if self._asked.is_set() or self._has_changed() or loop.time() - reported >= STATUS:
                    self._asked.clear()
                    await self._report(port)
                    reported = loop.time()
                await self._renew()
            except errors.ApiError as error:
                logger.warning("cannot send the heartbeat of node %s: %s", self._name, error)
                pause = RETRY
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), pause)

    def _has_changed(self) -> bool:
        """Whether the node's resources differ from the reported ones: devices are shared with nodes that are added and
        removed."""
        return self._node is not None and self._resources(self._node) != self._said

    async def _report(self, port: int) -> None:
        node = self._node = await self._client.get(NODES, Key("", self._name))
        self._said = self._resources(node)
        marks = registration.labels(self._name, self._machine)
        if not marks.items() <= (node["metadata"].get("labels") or {}).items():
            await self._client.patch(NODES, Key("", self._name), {"metadata": {"labels": marks}})
        status = registration.status(node, self._machine, self._said, port, time.time())
        await self._client.patch(NODES, Key("", self._name), {"status": status}, Patch.STRATEGIC, subresource="status")

    async def _renew(self) -> None:
        try:
            await self._client.patch(LEASES, self._lease, registration.renewal(self._name, time.time()))
        except errors.NotFound:
            node = await self._client.get(NODES, Key("", self._name))
            await self._client.create(LEASES, registration.lease(node, time.time()))
