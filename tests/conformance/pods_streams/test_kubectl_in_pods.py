# SPDX-License-Identifier: Apache-2.0
"""Stock kubectl, old and new, against an embedded API server and a node whose pods are real processes under shims."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conformance.streams.kubectl import Kubectl, environment, exchange, forwarded_port, line_of, tool
from tests.integration.kubelet_serving.node import Node, eventually
from tests.integration.kubelet_serving.pair import a_pair
from tests.integration.patience import until

from springtide.kube.resources import NODES, Key
from springtide.local.apiserver.nodes import resource_metrics
from springtide.local.kubelet.pods.local_pods import LocalPod


@dataclass
class Stage:
    node: Node
    kubectl: Kubectl

    async def __call__(self, *words: str, stdin: bytes | None = None) -> tuple[int, bytes, bytes]:
        return await self.kubectl("-n", "ns", *words, stdin=stdin)


@pytest.fixture(params=["websocket", "spdy"])
def websockets(request: pytest.FixtureRequest) -> str:
    return "true" if request.param == "websocket" else "false"


@pytest.fixture(params=["declared", "translated"])
def declared(request: pytest.FixtureRequest) -> bool:
    """Whether the node says that it speaks WebSocket itself."""
    return bool(request.param == "declared")


@pytest.fixture(params=["kubectl", "kubectl-old"])
async def stage(
    request: pytest.FixtureRequest, tmp_path: Path, websockets: str, declared: bool, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    monkeypatch.setattr(resource_metrics, "EVERY", 1.0)
    program = tool(request.param)
    async with a_pair(tmp_path) as pair:
        if declared:
            features = {"status": {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}}
            await pair.cluster.client("tester").patch(NODES, Key("", "n"), features, subresource="status")
        variables = environment(pair.cluster.directory.kubeconfig, tmp_path, websockets)
        yield Stage(pair.node, Kubectl(program, variables))


async def test_exec(stage: Stage) -> None:
    await stage.node.run("p", "sleep", "60")
    code, out, err = await stage("exec", "p", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (code, out) == (7, b"out\n")
    assert err.startswith(b"err\n")
    assert b"command terminated with exit code 7" in err
    content = os.urandom(1 << 20)
    assert (await stage("exec", "-i", "p", "--", "cat", stdin=content))[:2] == (0, content)
    code, out, _ = await stage("exec", "-i", "p", "--", "head", "-c", "3", stdin=b"x" * 5_000_000)
    assert (code, out) == (0, b"xxx")


async def test_what_cannot_be_executed(stage: Stage) -> None:
    pod = await stage.node.run("p", "sleep", "60")
    code, _, err = await stage("exec", "p", "--", "no-such-program")
    assert code == 1
    assert re.search(
        rb"error executing command in container: failed to exec in container: failed to start exec .*: "
        rb"OCI runtime exec failed: exec failed: unable to start container process: "
        rb'exec: "no-such-program": executable file not found in \$PATH: unknown',
        err,
    )
    assert pod.shim is not None
    await pod.shim.stop("main", 0)
    await _ended(stage.node, pod)
    code, _, err = await stage("exec", "p", "--", "true")
    assert code == 1
    assert b'unable to upgrade connection: container not found ("main")' in err


async def _ended(node: Node, pod: LocalPod) -> None:
    while pod.states["main"].status == "running":
        await node.look(pod)
        await asyncio.sleep(0.01)


async def test_a_terminal_gets_its_size(stage: Stage) -> None:
    await stage.node.run("p", "sleep", "60")
    command = "until stty size | grep '33 77'; do :; done"
    inside = f'stty rows 33 cols 77; {stage.kubectl.program} -n ns exec -it p -- sh -c "{command}"'
    code, out, _ = await Kubectl("script", stage.kubectl.environment)("-qec", inside, "/dev/null")
    assert code == 0
    assert b"33 77" in out


async def test_attach(stage: Stage) -> None:
    await stage.node.run("p", "sh", "-c", "read line; echo got $line", stdin=True)
    code, out, _ = await stage("attach", "-i", "p", stdin=b"hello\n")
    assert (code, out) == (0, b"got hello\n")


async def test_logs(stage: Stage) -> None:
    pod = await stage.node.run("p", "sh", "-c", "echo one; echo two; echo three")
    await _ended(stage.node, pod)
    assert (await stage("logs", "p"))[:2] == (0, b"one\ntwo\nthree\n")
    assert (await stage("logs", "p", "--tail=1"))[:2] == (0, b"three\n")
    assert (await stage("logs", "p", "-c", "main", "--limit-bytes=5"))[:2] == (0, b"one\nt")
    assert (await stage("logs", "p", "--since=1h", "--all-containers"))[:2] == (0, b"one\ntwo\nthree\n")
    assert (await stage("logs", "p", "--since-time=2999-01-01T00:00:00Z"))[:2] == (0, b"")
    code, out, _ = await stage("logs", "p", "--timestamps", "--tail=1")
    assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z three\n", out)
    code, _, err = await stage("logs", "p", "--previous")
    assert (code, err) == (
        1,
        b'Error from server (BadRequest): previous terminated container "main" in pod "p" not found\n',
    )
    await stage.node.start(pod, "echo", "again", attempt=1)
    await _ended(stage.node, pod)
    assert (await stage("logs", "p"))[:2] == (0, b"again\n")
    assert (await stage("logs", "p", "-p"))[:2] == (0, b"one\ntwo\nthree\n")


async def test_logs_are_followed(stage: Stage, tmp_path: Path) -> None:
    script = f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo two"
    pod = await stage.node.run("p", "sh", "-c", script)
    process = await stage.kubectl.start("-n", "ns", "logs", "-f", "p")
    assert await line_of(process) == b"one\n"
    (tmp_path / "go").touch()
    await _ended(stage.node, pod)
    out, _ = await asyncio.wait_for(process.communicate(), 15)
    assert (out, process.returncode) == (b"two\n", 0)


async def test_cp(stage: Stage, tmp_path: Path) -> None:
    await stage.node.run("p", "sleep", "60")
    (tmp_path / "here").write_bytes(b"x" * 100_000)
    code, _, err = await stage("cp", str(tmp_path / "here"), f"ns/p:{tmp_path}/there")
    assert (code, err) == (0, b"")
    code, _, err = await stage("cp", f"ns/p:{tmp_path}/there", str(tmp_path / "back"))
    assert code == 0, err
    assert (tmp_path / "back").read_bytes() == b"x" * 100_000


SERVER = """
import socketserver
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)
with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


async def test_port_forward(stage: Stage) -> None:
    await stage.node.run("p", "python3", "-c", SERVER)
    port = b""
    while not port:
        port = (await stage("logs", "p"))[1].strip()
    process = await stage.kubectl.start("-n", "ns", "port-forward", "p", f":{port.decode()}")
    local = await forwarded_port(process)
    assert await asyncio.gather(*(exchange(local, 200_000) for _ in range(4))) == [True] * 4
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    await process.communicate()


async def test_port_forward_where_nobody_listens(stage: Stage) -> None:
    await stage.node.run("p", "sleep", "60")
    process = await stage.kubectl.start("-n", "ns", "port-forward", "p", ":1")
    reader, writer = await asyncio.open_connection("127.0.0.1", await forwarded_port(process))
    assert await reader.read() == b""
    writer.close()
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    _, err = await process.communicate()
    assert b"connection refused" in err


async def test_a_broken_stream_leaves_the_command_running(stage: Stage, tmp_path: Path) -> None:
    await stage.node.run("p", "sleep", "60")
    script = f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo lost; touch {tmp_path}/end"
    process = await stage.kubectl.start("-n", "ns", "exec", "p", "--", "sh", "-c", script)
    assert await line_of(process) == b"begun\n"
    process.kill()
    await process.communicate()
    (tmp_path / "go").touch()
    await eventually((tmp_path / "end").exists)


async def test_top(stage: Stage) -> None:
    await stage.node.run("p", "sh", "-c", "while :; do :; done")

    async def pods() -> bytes:
        return (await stage("top", "pod"))[1]

    await until(pods, re.compile(rb"^p +[1-9][0-9]*m +\d+Mi", re.MULTILINE).search, 20)
    code, out, err = await stage("top", "node")
    assert code == 0, err
    assert re.search(rb"^n +[1-9][0-9]*m ", out, re.MULTILINE), out
