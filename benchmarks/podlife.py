# SPDX-License-Identifier: Apache-2.0
"""What pods are measured by: their programs write down when they run, and a client of the API notes what it sees.

All clocks are this machine's own, so a moment that a program wrote can be taken from one that the client noted.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp

from springtide.kube import config
from springtide.kube.client import Client
from springtide.kube.informer import Informer
from springtide.kube.request import DeleteOptions, Request, Scope
from springtide.kube.resources import PODS, Key, Obj, Resource

NAMESPACE = "default"
PATIENCE = 60.0
AGAIN = 0.01
CONNECTIONS = 16
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")

STAMP = "echo $EPOCHREALTIME"
"""In bash, the time without another process."""
IDLE = f"{STAMP}; exec sleep 1000"
"""A program that says when it ran, then waits for its end."""
TICKING = f"while :; do {STAMP}; sleep 0.05; done"
COMMAND = "for i in $(seq {count}); do from=$EPOCHREALTIME; {command}; echo $from $EPOCHREALTIME; done"
"""A program that says from when to when each run of a command took."""


def pod(name: str, script: str, **spec: Any) -> Obj:
    container = {
        "name": "main",
        "image": "bench",
        "command": ["bash", "-c", script],
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "bench"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 5, "restartPolicy": "Never", **spec},
    }


def forked(count: int) -> list[float]:
    """Seconds until the same program runs when it is simply started: what no pod can do better than."""
    times = []
    for _ in range(count):
        began = time.time()
        done = subprocess.run(["bash", "-c", STAMP], capture_output=True, text=True, check=True)
        times.append(float(done.stdout) - began)
    return times


@dataclass
class Seen:
    """When the client saw each pod reach a phase for the first time, and when it saw it gone."""

    phases: dict[tuple[str, str], float] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, name: str, phase: str) -> None:
        self.phases.setdefault((name, phase), time.time())
        self.changed.set()

    async def all(self, names: list[str], phase: str) -> float:
        """Waits until all are there; when the last one came."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not all((name, phase) in self.phases for name in names):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            missing = [name for name in names if (name, phase) not in self.phases]
            raise SystemExit(f"not {phase} after {PATIENCE:.0f} s: {', '.join(missing)}") from None
        return max(self.phases[name, phase] for name in names)


class Bench:
    """One client of a cluster, and the pods it has made."""

    def __init__(self, client: Client, session: aiohttp.ClientSession, server: str, node: str) -> None:
        self._client, self._session, self._server, self._node = client, session, server, node
        self.seen = Seen()
        self._pods = Informer(client, PODS, Scope(NAMESPACE))

    async def follow(self) -> None:
        def look(key: Key) -> None:
            found = self._pods.get(key)
            self.seen.note(key.name, "Gone" if found is None else str(found["status"].get("phase")))

        self._pods.on_change(look)
        await self._pods.run()

    async def synced(self) -> None:
        await self._pods.wait_synced()

    async def create(self, made: Obj) -> None:
        await self._client.create(PODS, made)

    async def run(self, name: str, script: str, phase: str = "Running", **spec: Any) -> None:
        await self.create(pod(name, script, **spec))
        await self.seen.all([name], phase)

    async def allow_all(self) -> None:
        """Pods of the namespace may do anything in it."""
        account = {"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        metadata = {"name": "bench", "namespace": NAMESPACE}
        await self._client.create(ROLE_BINDINGS, {"metadata": metadata, "roleRef": role, "subjects": [account]})

    async def bind(self, name: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": self._node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self._client.create(PODS, binding, on=Key(NAMESPACE, name), subresource="binding")

    async def remove(self, names: list[str]) -> None:
        """Until they are seen gone, which is when nothing of them is left."""
        for name in names:
            await self._client.delete(PODS, Key(NAMESPACE, name), DeleteOptions(grace=1))
        await self.seen.all(names, "Gone")

    async def stop_all(self) -> None:
        """Ask all pods to end."""
        await self._client.delete_collection(PODS, Scope(NAMESPACE))

    async def words(self, name: str) -> list[list[float]]:
        """The numbers in each line of a pod's log, once there is one."""
        for _ in range(int(PATIENCE / AGAIN)):
            answer = await self._client.raw(Request("GET", self._path(name, "log")))
            if answer.body.endswith(b"\n"):
                return [[float(word) for word in line.split()] for line in answer.body.decode().splitlines()]
            await asyncio.sleep(AGAIN)
        raise SystemExit(f"{name} has written nothing after {PATIENCE:.0f} s: {answer.body!r}")

    async def follow_log(self, name: str, count: int) -> list[float]:
        """Seconds from the writing of each line to its arrival."""
        delays: list[float] = []
        request = Request("GET", self._path(name, "log"), {"follow": "true", "sinceSeconds": "1"})
        async with aclosing(self._client.lines(request)) as lines:
            async for line in lines:
                delays.append(time.time() - float(line))
                if len(delays) == 2 * count:
                    break
        return delays[-count:]  # the first ones were written before we came

    async def execute(self, name: str, *command: str) -> float:
        """Seconds for one command over a WebSocket, from connecting to its exit code."""
        query = urlencode([*(("command", word) for word in command), ("stdout", "1"), ("stderr", "1")])
        began = time.perf_counter()
        async with self._session.ws_connect(
            f"{self._server}{self._path(name, 'exec')}?{query}", protocols=("v5.channel.k8s.io",)
        ) as stream:
            async for message in stream:
                if message.data[:1] == b"\3":
                    if b'"Success"' not in message.data:
                        raise SystemExit(f"exec: {message.data!r}")
                    return time.perf_counter() - began
        raise SystemExit("exec: the stream ended without an exit code")

    def _path(self, name: str, subresource: str) -> str:
        return f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/{subresource}"


@asynccontextmanager
async def connected(kubeconfig: str) -> AsyncIterator[Bench]:
    connection = await config.from_kubeconfig(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=connection.ssl, force_close=True)
    async with Client.over_http(connection) as client, aiohttp.ClientSession(connector=connector) as session:
        nodes = await client.list(Resource("", "v1", "nodes", "Node", namespaced=False))
        bench = Bench(client, session, connection.server, nodes.items[0]["metadata"]["name"])
        following = asyncio.create_task(bench.follow())
        try:
            await bench.synced()
            yield bench
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


async def timed(command: list[str], count: int) -> list[float]:
    """Seconds that a process takes from its start to its end."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
        if await process.wait():
            raise SystemExit(f"{' '.join(command)} failed")
        times.append(time.perf_counter() - began)
    return times


async def delayed(command: list[str], count: int, now: Callable[[], float] = time.time) -> list[float]:
    """Seconds from the moment written in each line that a process prints to its arrival here."""
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    delays = []
    while len(delays) < 2 * count and (line := await process.stdout.readline()):
        delays.append(now() - float(line))
    process.terminate()
    await process.communicate()
    return delays[-count:]
