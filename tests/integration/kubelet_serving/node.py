# SPDX-License-Identifier: Apache-2.0
"""A node's serving side with real shims behind it, and a client that asks as the API server does.

The pods have no network and no namespaces of their own (isolation `none`), so this runs wherever Python does.
"""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from tests.integration.patience import until

from springtide.local.access import pki
from springtide.local.kubelet.pods.local_pods import LocalPod, Pods
from springtide.local.kubelet.serving.server import serve
from springtide.local.runtime import shim_client
from springtide.local.runtime.contract import ContainerBody, PodBody
from springtide.local.streams import channels
from springtide.local.streams.channels import SPDY_PROTOCOL, Wanted
from springtide.local.streams.dialing import Answer, ask
from springtide.local.streams.kubelet import Kubelet, Location
from springtide.local.streams.session import Session, Stream

ALL = Wanted(stdin=True, stdout=True, stderr=True)
OUTPUT = Wanted(stdout=True, stderr=True)


@dataclass
class Node:
    """What the tests hold: pods to add to, and the way to the endpoint."""

    directory: Path
    authority: pki.Authority
    pods: Pods = field(default_factory=Pods)
    port: int = 0

    @property
    def kubelet(self) -> Kubelet:
        pair = pki.kubelet_client_pair(self.authority)
        return Kubelet("127.0.0.1", self.port, pki.client_context(self.authority.certificate, pair))

    @property
    def tickets(self) -> Path:
        return self.directory / "exec"

    async def run(self, name: str, *argv: str, env: Mapping[str, str] = {}, **options: bool) -> LocalPod:
        """A pod with one container, `main`, that runs this."""
        uid = str(uuid.uuid4())
        directory, logs = self.directory / "pods" / uid, self.directory / "logs" / uid
        for path in (directory / "containers" / "main", logs / "main", self.tickets):
            path.mkdir(parents=True, exist_ok=True)
        body = PodBody(uid, "ns", name, name, isolation="none", exec_socket=str(self.tickets / f"{uid}.sock"))
        (directory / "body.json").write_bytes(msgspec.json.encode(body))
        obj = {
            "metadata": {"name": name, "namespace": "ns", "uid": uid},
            "spec": {"containers": [{"name": "main", **options}]},
        }
        pod = LocalPod(obj, directory, logs, "127.0.0.1", shim=await shim_client.spawn(directory))
        self.pods.add(pod)
        await self.start(pod, *argv, env=env, **options)
        return pod

    async def start(
        self, pod: LocalPod, *argv: str, attempt: int = 0, env: Mapping[str, str] = {}, **options: bool
    ) -> None:
        assert pod.shim is not None
        variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **env}
        log = str(pod.logs / "main" / f"{attempt}.log")
        stdin, tty = options.get("stdin", False), options.get("tty", False)
        container = ContainerBody("main", attempt, argv, variables, "/", log, stdin=stdin, tty=tty)
        path = pod.directory / "containers" / "main" / f"{attempt}.body.json"
        path.write_bytes(msgspec.json.encode(container))
        await pod.shim.start("main", attempt)
        await self.look(pod)

    async def look(self, pod: LocalPod) -> None:
        assert pod.shim is not None
        for state in await pod.shim.states():
            pod.take_in(state)

    # Asking

    async def upgraded(self, location: Location, protocol: str = SPDY_PROTOCOL) -> Answer:
        headers = (
            ("Host", "x"),
            ("Connection", "Upgrade"),
            ("Upgrade", "SPDY/3.1"),
            ("X-Stream-Protocol-Version", protocol),
        )
        return await ask(location, "POST", headers)

    @contextlib.asynccontextmanager
    async def streams(self, verb: str, pod: str, wanted: Wanted, *argv: str) -> AsyncIterator[dict[str, Stream]]:
        names = {"input": wanted.stdin, "output": wanted.stdout, "error": wanted.stderr, "tty": wanted.tty}
        parameters = [(name, "1") for name, on in names.items() if on] + [("command", word) for word in argv]
        answer = await self.upgraded(self.kubelet.at(f"/{verb}/ns/{pod}/main", parameters))
        if answer.head.status != 101:
            body = await answer.duplex.read()
            await answer.duplex.close()
            raise Refusal(answer.head.status, body.decode())
        async with Session(answer.duplex, server=False) as session:
            yield await channels.open_command(session, wanted)

    async def execute(self, pod: str, *argv: str, stdin: bytes = b"", wanted: Wanted = ALL) -> dict[str, bytes]:
        """All that a command says, by stream; its input ends after `stdin`."""
        async with self.streams("exec", pod, wanted, *argv) as streams:
            if wanted.stdin:
                await streams["stdin"].write(stdin)
                await streams["stdin"].write_eof()
            outputs = (name for name in ("stdout", "stderr", "error") if name in streams)
            return {name: await streams[name].read_all(1 << 24) for name in outputs}

    @contextlib.asynccontextmanager
    async def get(self, path: str, method: str = "GET") -> AsyncIterator[aiohttp.ClientResponse]:
        location = self.kubelet.at(path)
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, location.url, ssl=location.tls or True) as found,
        ):
            yield found

    async def text(self, path: str, method: str = "GET") -> tuple[int, str]:
        async with self.get(path, method) as response:
            return response.status, await response.text()


class Refusal(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code, self.text = code, text


@contextlib.asynccontextmanager
async def a_node(directory: Path, authority: pki.Authority | None = None) -> AsyncIterator[Node]:
    """A node of a cluster of its own, or of one that is there."""
    os.makedirs(directory, exist_ok=True)
    node = Node(directory, authority or pki.Authority(directory / "pki", datetime.now(UTC)))
    pair = pki.node_pair(node.authority, "n", ["127.0.0.1"])
    trusted = directory / "ca.crt"
    trusted.write_bytes(node.authority.certificate)
    async with serve(node.pods, pair.path, pair.path, trusted, node.tickets) as node.port:
        try:
            yield node
        finally:
            for pod in node.pods.all():
                if pod.shim is not None:
                    await pod.shim.end()


def status_of(said: dict[str, bytes]) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(said["error"])
    return decoded


async def eventually(happened: Callable[[], object], patience: float = 30.0) -> None:
    async def ask() -> object:
        return happened()

    await until(ask, bool, patience)
