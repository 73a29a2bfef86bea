# SPDX-License-Identifier: Apache-2.0
"""The same tests on the embedded API server and, when SPRINGTIDE_ORACLE_KUBECONFIG names its kubeconfig, on a real
kube-apiserver. Both are bare: no other controller runs, and tests play scheduler, kubelet and Job controller.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from tests.integration.controllers.world import Server, World

from springtide.api.kinds.registry import DEFINED
from springtide.api.schema.definitions import definition
from springtide.kube import config, definitions
from springtide.kube.client import Client
from springtide.kube.http_transport import HttpTransport
from springtide.kube.resources import NAMESPACES, SERVICEACCOUNTS, Key
from springtide.local.access.identity import MASTERS, User
from springtide.local.apiserver.loopback import Loopback
from springtide.local.cluster import Options, running
from springtide.local.scheduler.gangs import installing

ORACLE = os.environ.get("SPRINGTIDE_ORACLE_KUBECONFIG", "")
SERVERS = ["oracle" if ORACLE else "embedded"]


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=SERVERS)
async def api_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with AsyncExitStack() as stack:
        if request.param == "oracle":
            connection = await config.discover(ORACLE)
            server = Server("oracle", lambda: HttpTransport(connection), ORACLE)
        else:
            options = Options(tmp_path_factory.mktemp("cluster"), port=0, controllers=False)
            cluster = await stack.enter_async_context(running(options))
            user = User("operator", groups=(MASTERS,))
            kubeconfig = str(cluster.directory.kubeconfig)
            server = Server("embedded", lambda: Loopback(cluster.server.dispatcher, user), kubeconfig)
        async with Client(server.transport()) as client:
            await definitions.install(client, [definition(each) for each in DEFINED], "springtide")
            await installing.install(client)
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def world(api_server: Server) -> AsyncIterator[World]:
    """A namespace of the test's own, without an operator yet."""
    async with Client(api_server.transport()) as client:
        name = f"ops-{uuid.uuid4().hex[:8]}"
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", name)))
        # Made by a controller that does not run here; no pod is admitted without it.
        await client.create(SERVICEACCOUNTS, SERVICEACCOUNTS.describe(Key(name, "default")))
        async with World(api_server, client, name) as made:
            yield made


@pytest_asyncio.fixture(loop_scope="session")
async def operated(world: World) -> World:
    """The same with an operator."""
    await world.start()
    return world
