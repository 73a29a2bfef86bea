# SPDX-License-Identifier: Apache-2.0
"""Clients that leave in the middle of anything: no error of the server's, and nothing in its log."""

from __future__ import annotations

import asyncio
import logging
import random

import aiohttp
import pytest
from tests.integration.apiserver.http1 import administrator

from springtide.kube.resources import CONFIGMAPS, Key
from springtide.local.cluster import Cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
HEAD = " HTTP/1.1\r\nHost: h\r\n"
REQUESTS = {
    "watch": f"GET {MAPS}?watch=1{HEAD}\r\n",
    "watch of what is there": f"GET {MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan{HEAD}\r\n",
    "zipped watch": f"GET {MAPS}?watch=1{HEAD}Accept-Encoding: gzip\r\n\r\n",
    "list": f"GET {MAPS}{HEAD}\r\n",
    "zipped list": f"GET {MAPS}{HEAD}Accept-Encoding: gzip\r\n\r\n",
    "table": f"GET {MAPS}{HEAD}Accept: application/json;as=Table;g=meta.k8s.io;v=v1\r\n\r\n",
    "half a body": f'POST {MAPS}{HEAD}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"metadata"',
    "half a chunk": f'POST {MAPS}{HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{{"a',
    "a head": f"GET {MAPS}{HEAD}",
    "log": f"GET /api/v1/namespaces/default/pods/none/log{HEAD}\r\n",
    "proxy": f"POST /api/v1/namespaces/default/services/kubernetes:443/proxy/{HEAD}Content-Length: 9\r\n\r\nab",
    "exec": (
        f"GET /api/v1/namespaces/default/pods/none/exec?command=x{HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"
    ),
}


@pytest.mark.parametrize("what", REQUESTS)
async def test_nothing_is_complained_of(cluster: Cluster, what: str, caplog: pytest.LogCaptureFixture) -> None:
    client, key = cluster.client("tester"), Key("default", "large")
    if await client.find(CONFIGMAPS, key) is None:
        await client.create(CONFIGMAPS, CONFIGMAPS.describe(key) | {"data": {"x": "y" * 500_000}})
    chance = random.Random(what)

    async def leave(number: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", cluster.port, ssl=administrator(cluster))
        writer.write(REQUESTS[what].encode())
        await asyncio.sleep(chance.uniform(0, 0.03))
        if number % 2:
            await client.patch(CONFIGMAPS, key, {"metadata": {"labels": {"n": str(number)}}})
        if number % 3:
            writer.transport.abort()
        else:
            writer.close()

    await asyncio.gather(*(leave(number) for number in range(24)))
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{cluster.url}/readyz", ssl=administrator(cluster)) as answer,
    ):
        assert answer.status == 200
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
