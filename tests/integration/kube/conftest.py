# SPDX-License-Identifier: Apache-2.0
"""The same tests on every server there is: the embedded one over TLS, the embedded one without leaving the process,
and, when SPRINGTIDE_ORACLE_KUBECONFIG names its kubeconfig, a real kube-apiserver in their place.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from springtide.kube.client import Client
from springtide.kube.resources import NAMESPACES, Key
from springtide.local.cluster import Options, running

ORACLE = os.environ.get("SPRINGTIDE_ORACLE_KUBECONFIG", "")
SERVERS = ["oracle"] if ORACLE else ["embedded", "in-process"]


@dataclass(frozen=True)
class Server:
    name: str
    client: Client
    kubeconfig: str
    """Also of the in-process one, whose server listens as well."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SERVERS)
async def api_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    start = {"embedded": over_tls, "in-process": in_process, "oracle": oracle}[request.param]
    async with start(tmp_path_factory.mktemp("cluster")) as server:
        yield server


@asynccontextmanager
async def over_tls(folder: Path) -> AsyncIterator[Server]:
    async with running(Options(folder, port=0)) as cluster:
        kubeconfig = str(cluster.directory.kubeconfig)
        async with await Client.connect(kubeconfig) as client:
            yield Server("embedded", client, kubeconfig)


@asynccontextmanager
async def in_process(folder: Path) -> AsyncIterator[Server]:
    async with running(Options(folder, port=0)) as cluster, cluster.client("tester") as client:
        yield Server("in-process", client, str(cluster.directory.kubeconfig))


@asynccontextmanager
async def oracle(folder: Path) -> AsyncIterator[Server]:
    async with await Client.connect(ORACLE) as client:
        yield Server("oracle", client, ORACLE)


@pytest.fixture
def client(api_server: Server) -> Client:
    return api_server.client


@pytest_asyncio.fixture(loop_scope="module")
async def namespace(client: Client) -> AsyncIterator[str]:
    """One of the test's own."""
    name = f"kube-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, NAMESPACES.describe(Key("", name)))
    yield name
    await client.delete(NAMESPACES, Key("", name))
