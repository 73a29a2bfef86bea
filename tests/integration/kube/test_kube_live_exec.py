# SPDX-License-Identifier: Apache-2.0
"""The exec client and the answers of whole API servers. A real kube-apiserver also gets a node that runs commands; the
embedded one has its own in `kubelet_serving/test_exec_client.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from tests.integration.kube.conftest import Server
from tests.integration.streams.node import listening, node_logs, node_upgrade

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.exec import KEPT_LINES, Ended, TimedOut, execute
from springtide.kube.resources import NODES, PODS, SERVICEACCOUNTS, Key
from springtide.local.access import pki

pytestmark = pytest.mark.asyncio(loop_scope="module")

NODE = Key("", "exec-client")


@pytest_asyncio.fixture(loop_scope="module")
async def upgrading(api_server: Server) -> AsyncIterator[Client]:
    """The client of a kubeconfig, also for the in-process server."""
    async with await Client.connect(api_server.kubeconfig) as client:
        yield client


async def a_pod(client: Client, namespace: str, node: str = "") -> Key:
    key = Key(namespace, "p")
    account = SERVICEACCOUNTS.describe(Key(namespace, "default"))
    with suppress(errors.AlreadyExists):  # by the controller of a whole cluster
        await client.create(SERVICEACCOUNTS, account)
    spec = {"containers": [{"name": "main", "image": "none"}]} | ({"nodeName": node} if node else {})
    await client.create(PODS, PODS.describe(key) | {"spec": spec})
    await client.patch(PODS, key, {"status": {"phase": "Running"}}, subresource="status")
    return key


async def test_a_missing_pod_or_node_is_explained(upgrading: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound, match='pods "p" not found'):
        await execute(upgrading, Key(namespace, "p"), "main", ["true"], 30)
    pod = await a_pod(upgrading, namespace)
    with pytest.raises(errors.BadRequest, match="pod p does not have a host assigned"):
        await execute(upgrading, pod, "main", ["true"], 30)


@pytest_asyncio.fixture(loop_scope="module")
async def node(api_server: Server, upgrading: Client, tmp_path: Path) -> AsyncIterator[str]:
    """A node that runs commands, although its kube-apiserver has no other."""
    if api_server.name != "oracle":
        pytest.skip("needs a kube-apiserver (`make test-oracle`): the embedded server trusts only nodes of its cluster")
    authority = pki.Authority(tmp_path, datetime.now(UTC))
    tls = pki.server_context(pki.node_pair(authority, "n", ["127.0.0.1"]), authority.certificate)
    async with listening(node_logs, node_upgrade, tls) as port:
        await upgrading.create(NODES, NODES.describe(NODE))
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await upgrading.patch(NODES, NODE, {"status": status}, subresource="status")
        yield NODE.name
        await upgrading.delete(NODES, NODE)


async def test_a_kube_apiserver_takes_a_command_to_its_node(upgrading: Client, namespace: str, node: str) -> None:
    pod = await a_pod(upgrading, namespace, node)
    words = ["sh", "-c", 'echo "$0"; seq 100000; exit 5', "a b;c"]
    ended = await execute(upgrading, pod, "main", words, 30)
    assert (ended.exit_code, len(ended.last_lines.splitlines())) == (5, KEPT_LINES)
    assert await execute(upgrading, pod, "main", ["sh", "-c", "echo oops >&2"], 30) == Ended(0, "oops")
    with pytest.raises(errors.ServerError, match="error executing command in container"):
        await execute(upgrading, pod, "main", ["no-such-program"], 30)
    with pytest.raises(TimedOut) as raised:
        await execute(upgrading, pod, "main", ["sh", "-c", "echo begun; sleep 30"], 1)
    assert raised.value.last_lines == "begun"
    with pytest.raises(errors.BadRequest, match="container other is not valid for pod p"):
        await execute(upgrading, pod, "other", ["true"], 30)
    nowhere = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}
    await upgrading.patch(NODES, NODE, nowhere, subresource="status")
    with pytest.raises(errors.ServerError, match="connection refused"):
        await execute(upgrading, pod, "main", ["true"], 30)
