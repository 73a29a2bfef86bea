# SPDX-License-Identifier: Apache-2.0
"""Processor time of one request to the embedded API server, without sockets and TLS: for machines that others use too.

    python benchmarks/inprocess.py
    python benchmarks/inprocess.py --calls        Python function calls per request, which no neighbour changes
    python benchmarks/compare.py ../before -- inprocess.py

Server and clients are one process, with all controllers and a database on disk. HTTP is read and written as usual, but
what one side writes is handed to the other side. Of many batches the fastest counts: processor time is longer, never
shorter, when neighbours use the caches and the other half of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import pstats
import ssl
import tempfile
import time
from pathlib import Path
from typing import Any

import load
import machine
from machine import Figures

from springtide.event_loop.garbage_collection import collect_rarely
from springtide.local import cluster as clusters
from springtide.local.access.identity import MASTERS
from springtide.local.apiserver.edge import Edge
from springtide.local.supervisor.server import COLLECT
from springtide.serving.connections import Connection, Service

WATCHERS = 100
CHANGES = 20
SETTLE = 1.0
LOOK = 0.05
IDLE = 0.005
"""Seconds of processor time between two looks, at most, when the controllers have nothing more to do."""


class Certified(ssl.SSLObject):
    """What the server sees of a TLS connection of the administrator."""

    def getpeercert(self, binary_form: bool = False) -> Any:
        if binary_form:
            return b"certificate"
        return {"subject": ((("commonName", "kubernetes-admin"),), (("organizationName", MASTERS),))}


class Pipe(asyncio.Transport):
    """Hands what is written to the protocol on the other side."""

    def __init__(self, other: asyncio.Protocol, **extra: object) -> None:
        super().__init__(extra)
        self._other, self._loop = other, asyncio.get_running_loop()

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self._loop.call_soon(self._other.data_received, bytes(data))

    def is_closing(self) -> bool:
        return False


def connect(client: load.Connection, service: Service) -> None:
    server = Connection(service, service.slots.enter(lambda: None))
    server.connection_made(Pipe(client, ssl_object=Certified.__new__(Certified)))
    client.connection_made(Pipe(server))


class Clients:
    def __init__(self, service: Service) -> None:
        self.address = load.Server(0)
        self.connections = [load.Connection() for _ in range(load.CONNECTIONS)]
        for connection in self.connections:
            connect(connection, service)

    async def batch(self, what: str, tag: str, count: int) -> int:
        """Send the requests over all connections; returns how many there were."""
        turns = count // len(self.connections)

        async def work(number: int, connection: load.Connection) -> None:
            for turn in range(turns):
                code, body = await connection.send(load.REQUESTS[what](self.address, tag, number, turn))
                if code >= 300:
                    raise SystemExit(f"{what}: {code} {body[:500].decode()}")

        await asyncio.gather(*(work(*pair) for pair in enumerate(self.connections)))
        await idle()
        return turns * len(self.connections)

    async def prepare(self) -> None:
        for request in load.first_objects(self.address):
            await self.connections[0].send(request)


async def idle() -> None:
    """Returns when the controllers have done what the requests have caused."""
    while True:
        before = time.process_time()
        await asyncio.sleep(LOOK)
        if time.process_time() - before < IDLE:
            return


async def watching(clients: Clients, service: Service) -> Figures:
    _, body = await clients.connections[0].send(clients.address.request("GET", f"{load.CONFIG_MAPS}/fixed-0"))
    version = json.loads(body)["metadata"]["resourceVersion"]
    follow = clients.address.request("GET", f"{load.CONFIG_MAPS}?watch=1&resourceVersion={version}")
    crowd = [load.Watcher() for _ in range(WATCHERS)]
    for watcher in crowd:
        connect(watcher, service)
    await asyncio.gather(*(watcher.follow(follow) for watcher in crowd))
    times: list[float] = []
    for number in range(CHANGES):
        mark = f"seen-{number}-"
        seen = [watcher.expect(mark.encode()) for watcher in crowd]
        change = {"data": {"a": mark}}
        request = clients.address.request("PATCH", f"{load.CONFIG_MAPS}/fixed-0", change, load.MERGE_PATCH)
        start = time.process_time()
        await clients.connections[0].send(request)
        await asyncio.gather(*seen)
        times.append(time.process_time() - start)
    return {f"change for {WATCHERS} watchers, microseconds": min(times) * 1e6}


async def measure(batches: int, count: int, calls: bool) -> Figures:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        async with clusters.running(clusters.Options(Path(home), port=0)) as cluster:
            service = Edge(cluster.server).service()
            clients = Clients(service)
            await clients.prepare()
            await asyncio.sleep(SETTLE)
            collect_rarely(COLLECT)
            for what in load.REQUESTS:
                await clients.batch(what, "warm", count)
            if calls:
                return {f"{what}, calls": await _calls(clients, what, count) for what in load.REQUESTS}
            times: dict[str, list[float]] = {what: [] for what in load.REQUESTS}
            for number in range(batches):
                for what, taken in times.items():
                    start = time.process_time()
                    sent = await clients.batch(what, f"b{number}", count)
                    taken.append((time.process_time() - start) / sent)
            figures = {f"{what}, microseconds": min(taken) * 1e6 for what, taken in times.items()}
            return figures | await watching(clients, service)


async def _calls(clients: Clients, what: str, count: int) -> float:
    with cProfile.Profile() as profile:
        sent = await clients.batch(what, "counted", count)
    return sum(entry[1] for entry in pstats.Stats(profile).stats.values()) / sent  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--count", type=int, default=320, help="requests of one batch")
    parser.add_argument("--calls", action="store_true", help="count function calls instead")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.batches, arguments.count, arguments.calls))
    print(machine.table([["", ""], *([name, machine.shown(value)] for name, value in figures.items())]))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine.described(), "figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
