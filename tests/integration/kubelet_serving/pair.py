# SPDX-License-Identifier: Apache-2.0
"""A whole embedded API server and a node that it knows, with real shims: the road that kubectl takes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.integration.kubelet_serving.node import Node, a_node
from tests.integration.patience import until

from springtide.kube.errors import ApiError
from springtide.kube.resources import NAMESPACES, NODES, PODS, SERVICEACCOUNTS, Key, Obj
from springtide.local.access import pki
from springtide.local.cluster import Cluster, Options, running
from springtide.local.runtime import kubectl as program

PATIENCE = 30


@dataclass
class Pair:
    """An API server and a node that it knows, with a pod `p`."""

    cluster: Cluster
    node: Node
    server: AsyncExitStack
    """Ends the API server when it is closed."""

    async def start(
        self, *words: str, stdin: int = asyncio.subprocess.DEVNULL, terminal: int | None = None
    ) -> asyncio.subprocess.Process:
        environment = {
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(self.cluster.directory.kubeconfig),
            "SPRINGTIDE_EXEC_DIR": str(self.node.tickets),
        }
        command = (sys.executable, "-I", "-S", program.__file__, *words)
        streams = (terminal,) * 3 if terminal is not None else (stdin, asyncio.subprocess.PIPE, asyncio.subprocess.PIPE)
        return await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=streams[0], stdout=streams[1], stderr=streams[2]
        )

    async def kubectl(self, *words: str, stdin: bytes | None = None) -> tuple[int | None, str, str]:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await self.start(*words, stdin=nothing if stdin is None else pipe)
        out, err = await asyncio.wait_for(process.communicate(stdin), PATIENCE)
        return process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def a_pair(directory: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(AsyncExitStack())
        cluster = await server.enter_async_context(running(Options(directory / "cluster", port=0, audit=True)))
        authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
        node = await stack.enter_async_context(a_node(directory / "node", authority))
        await _announce(cluster, node)
        yield Pair(cluster, node, server)


async def _announce(cluster: Cluster, node: Node) -> None:
    client = cluster.client("tester")
    await client.create(NODES, NODES.describe(Key("", "n")))
    endpoint = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": node.port}},
    }
    await client.patch(NODES, Key("", "n"), {"status": endpoint}, subresource="status")
    await client.create(NAMESPACES, NAMESPACES.describe(Key("", "ns")))

    async def account() -> Obj | None:
        try:
            return await client.get(SERVICEACCOUNTS, Key("ns", "default"))
        except ApiError:
            return None

    await until(account, bool, PATIENCE)
    containers = [{"name": "main", "image": "none"}]
    pod = PODS.describe(Key("ns", "p")) | {"spec": {"nodeName": "n", "containers": containers}}
    await client.create(PODS, pod)
    await client.patch(PODS, Key("ns", "p"), {"status": {"phase": "Running"}}, subresource="status")
