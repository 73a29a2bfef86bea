# SPDX-License-Identifier: Apache-2.0
"""The API server and the pods' network: services become names and addresses, and each side reaches the other."""

from __future__ import annotations

import asyncio
import contextlib
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.integration.network.conftest import Network, Pod
from tests.integration.patience import until

from springtide.kube import config
from springtide.kube.client import Client
from springtide.kube.resources import ENDPOINTSLICES, PODS, SERVICEACCOUNTS, SERVICES, Key
from springtide.local.cluster import Cluster, Options, running
from springtide.local.network import dialing

A = "10.244.1.2"
WEB_SERVER = textwrap.dedent("""
    from http.server import BaseHTTPRequestHandler, HTTPServer
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello from " + ADDRESS.encode())
        def log_message(self, *words):
            pass
    server = HTTPServer(("0.0.0.0", 8080), Handler)
    print("listening", flush=True)
    server.serve_forever()
""")
VERSION = textwrap.dedent("""
    import ssl, urllib.request
    context = ssl._create_unverified_context()
    print(urllib.request.urlopen("https://kubernetes.default:443/version", timeout=20, context=context).status)
""")
FETCH = "import urllib.request; print(urllib.request.urlopen('http://web', timeout=20).read().decode())"


@asynccontextmanager
async def a_cluster(path: Path, network: Network) -> AsyncIterator[Cluster]:
    async with running(Options(path, port=0, netd_socket=network.socket)) as cluster:
        yield cluster


async def publish(client: Client) -> None:
    service = SERVICES.describe(Key("default", "web"))
    service["spec"] = {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    await client.create(SERVICES, service)
    piece = ENDPOINTSLICES.describe(Key("default", "web-1"))
    piece["metadata"]["labels"] = {"kubernetes.io/service-name": "web"}
    piece |= {"addressType": "IPv4", "ports": [{"name": "http", "port": 8080}], "endpoints": [{"addresses": [A]}]}
    await client.create(ENDPOINTSLICES, piece)


async def said(network: Network, address: str, code: str) -> str:
    """What a pod says that takes part while our own loop runs."""

    def run() -> str:
        with contextlib.suppress(AssertionError):
            return network.pod(address, code).said()
        return ""

    return await asyncio.to_thread(run)


def a_web_server(network: Network) -> Pod:
    pod = network.pod(A, WEB_SERVER)
    assert pod.line() == "listening"
    return pod


async def test_a_service_works_as_soon_as_it_is_written_and_again_after_the_holder_was_killed(
    network: Network, tmp_path: Path
) -> None:
    a_web_server(network)
    async with a_cluster(tmp_path, network) as cluster:
        await publish(cluster.client("somebody"))
        expected = f"hello from {A}\n"
        await until(lambda: said(network, "10.244.2.2", FETCH), lambda words: words == expected, 20)

        network.kill_holder()
        (network.data_dir / "network" / "table.json").unlink()
        await asyncio.to_thread(network.start_holder)
        await until(lambda: said(network, "10.244.2.2", FETCH), lambda words: words == expected, 20)


async def test_pods_reach_the_server_by_its_service_also_after_the_holder_was_killed(
    network: Network, tmp_path: Path
) -> None:
    async with a_cluster(tmp_path, network):
        await until(lambda: said(network, "10.244.2.2", VERSION), lambda words: words == "200\n", 20)
        network.kill_holder()
        await asyncio.to_thread(network.start_holder)  # no pod was there: this is a new network
        await until(lambda: said(network, "10.244.2.2", VERSION), lambda words: words == "200\n", 20)


async def test_the_server_reaches_pods_for_its_proxy_subresource(network: Network, tmp_path: Path) -> None:
    a_web_server(network)
    async with a_cluster(tmp_path, network) as cluster:
        client = cluster.client("somebody")
        pod = PODS.describe(Key("default", "web"))
        container = {"name": "web", "image": "web", "ports": [{"containerPort": 8080}]}
        pod["spec"] = {"containers": [container], "nodeName": "n", "automountServiceAccountToken": False}
        await _create_when_possible(client, pod)
        status = {"status": {"phase": "Running", "podIP": A, "podIPs": [{"ip": A}]}}
        await client.patch(PODS, Key.of(pod), status, subresource="status")
        url = f"{cluster.url}/api/v1/namespaces/default/pods/web/proxy/"
        assert await _fetched(cluster, url) == (200, f"hello from {A}")


async def _create_when_possible(client: Client, pod: dict[str, Any]) -> None:
    """The namespace's account comes in its own time."""
    await until(lambda: client.find(SERVICEACCOUNTS, Key("default", "default")), bool, 20)
    await client.create(PODS, pod)


async def _fetched(cluster: Cluster, url: str) -> tuple[int, str]:
    connection = await config.discover(str(cluster.directory.kubeconfig))
    connector = aiohttp.TCPConnector(ssl=connection.ssl)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
        return answer.status, await answer.text()


async def test_only_addresses_inside_are_dialled_through_the_holder(network: Network) -> None:
    a_web_server(network)
    connector = aiohttp.TCPConnector(socket_factory=dialing.socket_factory(network.socket))
    async with aiohttp.ClientSession(connector=connector) as session:
        async with session.get(f"http://{A}:8080") as answer:
            assert await answer.text() == f"hello from {A}"
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await session.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


async def test_a_dialled_address_where_nobody_listens_refuses(network: Network) -> None:
    pod = network.pod(A, "input()")
    with pytest.raises(ConnectionRefusedError):
        await dialing.dial(network.socket, A, 8080)
    pod.tell("")


async def test_without_a_holder_the_network_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the pods' network is down"):
        await dialing.dial(tmp_path / "holder.sock", A, 80)


async def test_a_listening_socket_outlives_the_holder_that_made_it(network: Network) -> None:
    listener = await dialing.listening(network.socket, "10.96.0.1", 443)
    code = "import socket; input(); print(socket.create_connection(('10.96.0.1', 443), 5).recv(10).decode())"
    pod = network.pod(A, code)
    network.kill_holder()
    pod.tell("")
    peer, _ = await asyncio.get_running_loop().sock_accept(listener)
    with listener, peer:
        await asyncio.get_running_loop().sock_sendall(peer, b"hello")
    assert pod.line() == "hello"
