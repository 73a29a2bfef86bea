# SPDX-License-Identifier: Apache-2.0
"""A node and an API server reduced to their streams: real processes, real TCP, real TLS between them.

`Node` serves the kubelet's paths with the server halves; `Front` is an API server that knows one running pod, `p`, and
proxies to the node. Tests drive `Front` with raw connections, conformance tests drive it with kubectl.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import socket
import ssl
import struct
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
from aiohttp import web

from springtide.local.access import pki
from springtide.local.status import StatusError
from springtide.local.streams import channels, forwarding, kubelet, logs, proxy, takeover
from springtide.local.streams.channels import Command, Status, Wanted
from springtide.local.streams.duplex import Duplex, Input, Output, Socket
from springtide.local.streams.takeover import Upgrade
from springtide.serving.connections import Service
from springtide.serving.listening import Listener
from springtide.serving.slots import Limits

POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "namespace": "default", "uid": "u"},
    "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "none"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


async def run_process(words: list[str], tty: bool, command: Command) -> Status:
    """What a container runtime does, without a container."""
    if tty:
        return await _run_on_terminal(words, command)
    pipe = asyncio.subprocess.PIPE
    process = await _started(words, pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    feeding = asyncio.ensure_future(_feed(command.stdin, process.stdin))
    drains = ((process.stdout, command.stdout), (process.stderr, command.stderr))
    draining = [asyncio.ensure_future(_drain(source, target)) for source, target in drains]
    try:
        await asyncio.gather(*draining)
        return channels.exited(await process.wait())
    finally:
        await _surely(_end(process, feeding, *draining))


async def _started(words: list[str], streams: int) -> asyncio.subprocess.Process:
    """If whoever waits for it is told to leave meanwhile, it is ended."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*words, stdin=streams, stdout=streams, stderr=streams)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _surely(_end_once_started(starting))
        raise


async def _end_once_started(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    with contextlib.suppress(FileNotFoundError):
        await _end(await starting)


async def _end(process: asyncio.subprocess.Process, *tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if process.returncode is None:
        process.kill()
    await process.communicate()  # nobody else reads what it has said


async def _surely(ending: Coroutine[Any, Any, None]) -> None:
    """To its end, however often whoever waits for it is told to leave."""
    task = asyncio.ensure_future(ending)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)


async def _feed(source: Input | None, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while source is not None and (data := await source.read()):
            target.write(data)
            await target.drain()
        target.close()


async def _drain(source: asyncio.StreamReader, target: Output | None) -> None:
    while data := await source.read(1 << 16):
        if target is not None:
            await target.write(data)


async def _run_on_terminal(words: list[str], command: Command) -> Status:
    ours, theirs = pty.openpty()
    process = await _started(words, theirs)
    os.close(theirs)
    extra = [asyncio.ensure_future(_keyboard(command, ours)), asyncio.ensure_future(_sizes(command, ours))]
    try:
        await _screen(command, ours)
        return channels.exited(await process.wait())
    finally:
        await _surely(_end(process, *extra))
        os.close(ours)


async def _screen(command: Command, terminal: int) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):  # EIO: the last user of the terminal is gone
        while data := await loop.run_in_executor(None, os.read, terminal, 1 << 16):
            if command.stdout is not None:
                await command.stdout.write(data)


async def _keyboard(command: Command, terminal: int) -> None:
    while command.stdin is not None and (data := await command.stdin.read()):
        os.write(terminal, data)


async def _sizes(command: Command, terminal: int) -> None:
    while command.resize is not None and (data := await command.resize.read()):
        for line in data.splitlines():
            size = json.loads(line)
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size["Height"], size["Width"], 0, 0))


async def dial_local(port: int) -> Duplex:
    return Socket(*await asyncio.open_connection("127.0.0.1", port))


async def node_upgrade(upgrade: Upgrade) -> None:
    parts = urlsplit(upgrade.head.target)
    query = parse_qs(parts.query)
    verb = parts.path.split("/")[1]
    if verb == "portForward":
        await forwarding.serve(upgrade.head, upgrade.duplex, dial_local, "p_default")
        return
    on = {name for name in ("input", "output", "error", "tty") if query.get(name) == ["1"]}
    wanted = Wanted("input" in on, "output" in on, "error" in on and "tty" not in on, "tty" in on)
    words = query["command"] if verb == "exec" else ["cat"]

    async def run(command: Command) -> Status:
        try:
            return await run_process(words, wanted.tty, command)
        except FileNotFoundError as problem:
            return channels.failed(f"error executing command in container: {problem}")

    await channels.serve(upgrade.head, upgrade.duplex, wanted, run)


async def node_logs(request: web.BaseRequest) -> web.StreamResponse:
    if "missing" in request.path:
        return web.Response(status=404, text='pods "missing" not found')
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(f"{request.rel_url}\n".encode())
    await response.write(b"second line\n")
    return response


@dataclass
class Front:
    """An API server with one pod on one node."""

    kubelet: kubelet.Kubelet
    session: aiohttp.ClientSession
    port: int = 0

    async def upgraded(self, upgrade: Upgrade) -> None:
        try:
            await self._upgraded(upgrade)
        except StatusError as refused:
            await proxy.refuse(upgrade.duplex, refused)

    async def _upgraded(self, upgrade: Upgrade) -> None:
        parts = urlsplit(upgrade.head.target)
        query, verb, direct = parse_qs(parts.query), parts.path.rpartition("/")[2], self.kubelet.speaks_websocket
        if verb == "portforward":
            location = kubelet.forward_location(self.kubelet, POD, query)
            await proxy.forward(upgrade.head, upgrade.duplex, location, websocket=direct)
        else:
            locate = kubelet.exec_location if verb == "exec" else kubelet.attach_location
            location = locate(self.kubelet, POD, query)
            await proxy.command(upgrade.head, upgrade.duplex, location, kubelet.wanted(query), websocket=direct)

    async def http(self, request: web.BaseRequest) -> web.StreamResponse:
        """Enough of the API for kubectl to find the pod."""
        if request.path.endswith("/log"):
            return await self._log(request)
        known = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/api/v1": {
                "kind": "APIResourceList",
                "groupVersion": "v1",
                "resources": [{"name": "pods", "namespaced": True, "kind": "Pod", "verbs": ["get"]}],
            },
            "/api/v1/namespaces/default/pods/p": POD,
        }
        answer = known.get(request.path)
        return web.json_response(answer) if answer else web.Response(status=404)

    async def _log(self, request: web.BaseRequest) -> web.StreamResponse:
        query = {name: request.query.getall(name) for name in request.query}
        location = kubelet.log_location(self.kubelet, POD, query)
        response = web.StreamResponse()
        async for data in logs.stream(self.session, location, "p"):
            if not response.prepared:
                await response.prepare(request)
            await response.write(data)
        return response


@contextlib.asynccontextmanager
async def listening(
    http: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    upgraded: takeover.Handler,
    tls: ssl.SSLContext | None,
    limits: Limits | None = None,
) -> AsyncIterator[int]:
    service = Service(http, limits, upgrade=takeover.taking_over(upgraded))
    listener = Listener(service, socket.create_server(("127.0.0.1", 0)), tls)
    try:
        yield listener.port
    finally:
        await listener.close()
        await takeover.stop()
        await service.shutdown(0.1)


@contextlib.asynccontextmanager
async def front_and_node(
    directory: Path, *, websocket: bool = False, tls: bool = True
) -> AsyncIterator[tuple[Front, bytes]]:
    """A running pair, and the CA of the front's certificate."""
    authority = pki.Authority(directory, datetime.now(UTC))
    node_tls = pki.server_context(pki.node_pair(authority, "n", ["127.0.0.1"]), authority.certificate)
    front_tls = pki.server_context(pki.server_pair(authority), authority.certificate) if tls else None
    to_node = pki.client_context(authority.certificate, pki.kubelet_client_pair(authority))
    async with listening(node_logs, node_upgrade, node_tls) as node_port, aiohttp.ClientSession() as session:
        front = Front(kubelet.Kubelet("127.0.0.1", node_port, to_node, websocket), session)
        async with listening(front.http, front.upgraded, front_tls) as port:
            front.port = port
            yield front, authority.certificate
