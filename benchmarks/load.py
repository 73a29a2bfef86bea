# SPDX-License-Identifier: Apache-2.0
"""The load: prepared requests over a few raw TLS connections, in a process of its own.

`apiserver.py` starts it once per measurement and reads one JSON line from it. It does as little as possible, so that
the server is what is measured: requests are bytes made before the clock starts, and an answer is looked at only for its
status and its end. It has read 9,300 small answers per second on two cores, so it is no limit below that.
"""

from __future__ import annotations

import asyncio
import gc
import json
import ssl
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

CONNECTIONS = 16
NAMESPACE = "bench"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
MERGE_PATCH = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
END_OF_HEAD = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True)
class Server:
    """Where to send to, and what every request carries."""

    port: int
    token: str = ""
    certificate: str = ""
    """A PEM file with certificate and key."""

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        # Both servers have certificates of their own making, and the handshake is not what is measured.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.certificate:
            context.load_cert_chain(self.certificate)
        return context

    def request(self, method: str, path: str, body: Any = None, media: str = "application/json") -> bytes:
        head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "User-Agent: bench/1", "Accept: application/json"]
        if self.token:
            head.append(f"Authorization: Bearer {self.token}")
        content = b"" if body is None else json.dumps(body).encode()
        if content:
            head += [f"Content-Type: {media}", f"Content-Length: {len(content)}"]
        return "\r\n".join(head).encode() + END_OF_HEAD + content


class Connection(asyncio.Protocol):
    """One request at a time; the answer is its status and its bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._missing = 0  # bytes of a body whose length is known
        self._status = 0
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport

    @classmethod
    async def open(cls, server: Server, context: ssl.SSLContext) -> Self:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, "127.0.0.1", server.port, ssl=context)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))

    async def send(self, request: bytes) -> tuple[int, bytes]:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if not self._status:
            data = b"".join([*self._pieces, data])
            self._pieces.clear()
            if not self._read_head(data):
                return
        else:
            self._pieces.append(data)
            self._missing -= len(data)
        if self._missing == 0 if self._missing >= 0 else self._chunks_ended():
            self._finish()

    def _read_head(self, data: bytes) -> bool:
        head, end, body = data.partition(END_OF_HEAD)
        self._pieces.append(body if end else data)
        if end:
            self._status = int(head[9:12])
            _, known, rest = head.lower().partition(b"content-length:")
            # Without a length it is sent in chunks; the count then stays below zero.
            self._missing = int(rest.partition(b"\r\n")[0]) - len(body) if known else -1
        return bool(end)

    def _chunks_ended(self) -> bool:
        return b"".join(self._pieces[-2:]).endswith(LAST_CHUNK)

    def _finish(self) -> None:
        answer, status, body = self._answer, self._status, b"".join(self._pieces)
        self._pieces.clear()
        self._status = self._missing = 0
        if answer is not None and not answer.done():
            answer.set_result((status, body))


class Watcher(Connection):
    """Waits for a text to pass by in a watch."""

    _wanted = b"\0"
    _rest = b""
    """The end of what came before: a text may be cut in two by a read."""
    _seen: asyncio.Future[float]

    def expect(self, text: bytes) -> asyncio.Future[float]:
        self._wanted, self._seen = text, asyncio.get_running_loop().create_future()
        return self._seen

    def follow(self, request: bytes) -> asyncio.Future[float]:
        self._transport.write(request)
        return self.expect(b"200 OK")

    def data_received(self, data: bytes) -> None:
        if self._wanted in self._rest + data and not self._seen.done():
            self._seen.set_result(time.perf_counter())
        self._rest = data[-len(self._wanted) :]


def config_map(name: str, value: str = "1") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"a": value, "b": "2", "payload": "x" * 500},
    }


def pod(name: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox:1",
        "command": ["sleep", "1"],
        "env": [{"name": "A", "value": "b"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "spec": {"containers": [container]},
    }


def _applied(server: Server, name: str, value: str) -> bytes:
    path = f"{CONFIG_MAPS}/{name}?fieldManager=bench&force=true"
    return server.request("PATCH", path, config_map(name, value), APPLY)


Make = Callable[[Server, str, int, int], bytes]
"""The request of a connection at a turn, given a tag that makes names unique."""

REQUESTS: dict[str, Make] = {
    "configmap create": lambda s, tag, c, i: s.request("POST", CONFIG_MAPS, config_map(f"{tag}-{c}-{i}")),
    "configmap get": lambda s, tag, c, i: s.request("GET", f"{CONFIG_MAPS}/fixed-{c}"),
    "configmap merge patch": lambda s, tag, c, i: s.request(
        "PATCH", f"{CONFIG_MAPS}/fixed-{c}", {"data": {"a": f"{tag}-{i}"}}, MERGE_PATCH
    ),
    "apply, new object": lambda s, tag, c, i: _applied(s, f"{tag}-{c}-{i}", "1"),
    "apply, changed object": lambda s, tag, c, i: _applied(s, f"applied-{c}", f"{tag}-{i}"),
    "pod create": lambda s, tag, c, i: s.request("POST", PODS, pod(f"{tag}-{c}-{i}")),
}


async def rate(server: Server, what: str, tag: str, count: int) -> dict[str, Any]:
    """How many requests per second all connections together get answered."""
    context = server.context()
    connections = [await Connection.open(server, context) for _ in range(CONNECTIONS)]
    turns = count // CONNECTIONS
    prepared = [[REQUESTS[what](server, tag, c, i) for i in range(turns)] for c in range(CONNECTIONS)]
    codes: Counter[int] = Counter()
    waits: list[float] = []
    refused = b""

    async def work(connection: Connection, requests: Sequence[bytes]) -> None:
        nonlocal refused
        for request in requests:
            sent = time.perf_counter()
            code, body = await connection.send(request)
            waits.append(time.perf_counter() - sent)
            codes[code] += 1
            if code >= 400:
                refused = body

    with _no_collection():
        start = time.perf_counter()
        await asyncio.gather(*(work(*pair) for pair in zip(connections, prepared, strict=True)))
        took = time.perf_counter() - start
    for connection in connections:
        connection.close()
    if refused:
        raise SystemExit(f"{what}: {dict(codes)}: {refused[:500].decode()}")
    waits.sort()
    return {"per_second": turns * CONNECTIONS / took, "p50_ms": _at(waits, 0.5), "p99_ms": _at(waits, 0.99)}


def _at(waits: Sequence[float], share: float) -> float:
    return waits[int(len(waits) * share)] * 1000


class _no_collection:
    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()


async def prepare(server: Server) -> dict[str, Any]:
    """The namespace, its service account (nobody but us makes one on a server without controllers), fixed objects."""
    connection = await Connection.open(server, server.context())
    for request in first_objects(server):
        code, body = await connection.send(request)
        if code >= 300 and code != 409:
            raise SystemExit(f"cannot prepare: {code} {body[:500].decode()}")
    connection.close()
    return {}


def first_objects(server: Server) -> Iterator[bytes]:
    path = "/api/v1/namespaces"
    yield server.request("POST", path, {"metadata": {"name": NAMESPACE}})
    yield server.request("POST", f"{path}/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
    for number in range(CONNECTIONS):
        yield server.request("POST", CONFIG_MAPS, config_map(f"fixed-{number}"))
        yield _applied(server, f"applied-{number}", "0")


async def listing(server: Server, count: int) -> dict[str, Any]:
    """Seconds for a list of all pods, from the request to its last byte."""
    connection = await Connection.open(server, server.context())
    times: list[float] = []
    size = 0
    for _ in range(count):
        start = time.perf_counter()
        code, body = await connection.send(server.request("GET", PODS))
        times.append(time.perf_counter() - start)
        if code != 200:
            raise SystemExit(f"list: {code} {body[:500].decode()}")
        size = len(body)
    connection.close()
    return {"seconds": sorted(times)[count // 2], "bytes": size}


async def watching(server: Server, watchers: int, count: int) -> dict[str, Any]:
    """Milliseconds from sending a change to the moment when the last of many watchers has it."""
    context = server.context()
    crowd = [await Watcher.open(server, context) for _ in range(watchers)]
    writer = await Connection.open(server, context)
    _, body = await writer.send(server.request("GET", f"{CONFIG_MAPS}/fixed-0"))
    version = json.loads(body)["metadata"]["resourceVersion"]
    follow = server.request("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")
    await asyncio.gather(*(watcher.follow(follow) for watcher in crowd))
    times: list[float] = []
    for number in range(count):
        mark = f"seen-{number}-"
        seen = [watcher.expect(mark.encode()) for watcher in crowd]
        change = server.request("PATCH", f"{CONFIG_MAPS}/fixed-0", {"data": {"a": mark}}, MERGE_PATCH)
        start = time.perf_counter()
        await writer.send(change)
        times.append((max(await asyncio.gather(*seen)) - start) * 1000)
    for connection in (writer, *crowd):
        connection.close()
    return {"milliseconds": sorted(times)[count // 2]}


def main() -> None:
    """Reads {"server": {...}, "what": ..., arguments} from standard input, answers with one line of JSON."""
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    server, what = Server(**order.pop("server")), order.pop("what")
    kinds: dict[str, Callable[..., Any]] = {"prepare": prepare, "list": listing, "watch": watching}
    work = kinds[what](server, **order) if what in kinds else rate(server, what, **order)
    print(json.dumps(asyncio.run(work)))


if __name__ == "__main__":
    main()
