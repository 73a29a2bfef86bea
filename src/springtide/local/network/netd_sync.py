# SPDX-License-Identifier: Apache-2.0
"""Keeps netd's table equal to the cluster's services.

Runs beside the API server and uses only the Kubernetes API. Changes within a few milliseconds are merged into one
table; a restarted netd uses the last table from its file and gets a new one as soon as it answers.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any, Final

from springtide.kube.client import Client
from springtide.kube.errors import AlreadyExists, ApiError
from springtide.kube.informer import Informers
from springtide.kube.resources import ENDPOINTSLICES, SERVICES, Key
from springtide.local.network import dialing
from springtide.local.network.messages import Conversation, Refused
from springtide.local.network.table import DNS_ADDRESS, Rows, Service, Slice, table

logger = logging.getLogger(__name__)

PAUSE: Final = 0.005
_AGAIN: Final = 0.1
_DNS: Final = Key("kube-system", "kube-dns")


class TableSync:
    def __init__(self, informers: Informers, netd: Path) -> None:
        self._netd = netd
        self._services = informers.of(SERVICES, into=Service)
        self._slices = informers.of(ENDPOINTSLICES, into=Slice)
        self._rows = Rows()
        self._changed = asyncio.Event()
        for informer in (self._services, self._slices):
            informer.on_change(lambda _: self._changed.set())

    async def run(self) -> None:
        """Runs forever: connects to netd and sends every new table."""
        await self._services.wait_synced()
        await self._slices.wait_synced()
        while True:
            try:
                conversation = await asyncio.to_thread(Conversation, str(self._netd), dialing.PATIENCE)
            except OSError:
                await asyncio.sleep(_AGAIN)
                continue
            try:
                await self._feed(conversation)
            except (OSError, ValueError, Refused) as problem:
                logger.info("netd does not accept the table, trying again: %s", problem)
            finally:
                conversation.close()
            await asyncio.sleep(_AGAIN)

    async def _feed(self, conversation: Conversation) -> None:
        """Runs until netd closes the connection (OSError)."""
        sent: dict[str, Any] | None = None
        while True:
            self._changed.clear()
            services = self._services.objects()
            wanted = table(services, self._slices.objects(), self._rows)
            self._rows.keep(services)
            if wanted != sent:
                await asyncio.to_thread(conversation.ask, {"do": "table", "table": wanted})
                sent = wanted
            await self._next(conversation)
            await asyncio.sleep(PAUSE)

    async def _next(self, conversation: Conversation) -> None:
        """Returns when something changed; OSError when netd closed the connection meanwhile."""
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        descriptor = conversation.fileno()
        loop.add_reader(descriptor, gone.set)
        waits = [loop.create_task(event.wait()) for event in (gone, self._changed)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(descriptor)
            for wait in waits:
                wait.cancel()
        if gone.is_set():
            raise ConnectionResetError("netd closed the connection")


async def run(client: Client, netd: Path) -> None:
    """Runs until cancelled."""
    informers = Informers(client)
    sync = TableSync(informers, netd)
    async with asyncio.TaskGroup() as group:
        group.create_task(informers.run(), name="network informers")
        group.create_task(_announce_dns(client), name="network dns service")
        group.create_task(sync.run(), name="network table")


async def _announce_dns(client: Client) -> None:
    """Creates the DNS service of real clusters, which reserves its address."""
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
    ]
    labels = {"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
    service = SERVICES.describe(_DNS)
    service["metadata"]["labels"] = labels
    service["spec"] = {"clusterIP": DNS_ADDRESS, "ports": ports}
    while True:
        try:
            # Looked up first: the API server checks the address before the name.
            if await client.find(SERVICES, _DNS) is None:
                await client.create(SERVICES, service)
            return
        except AlreadyExists:
            return
        except ApiError as error:
            logger.info("Cannot create service %s, trying again: %s", _DNS, error)
            await asyncio.sleep(1)
