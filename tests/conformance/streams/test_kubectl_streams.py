# SPDX-License-Identifier: Apache-2.0
"""Stock kubectl, over WebSocket and over SPDY, through the proxy to a node with real processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.conformance.streams.kubectl import Kubectl, environment, exchange, forwarded_port, tool
from tests.integration.streams.node import front_and_node
from tests.integration.streams.test_streams import echo_server

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: {ca}}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""


@pytest.fixture(params=["translated", "direct"])
def node_speaks_websocket(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "direct")


@pytest.fixture(params=["websocket", "spdy"])
def websockets(request: pytest.FixtureRequest) -> str:
    return "true" if request.param == "websocket" else "false"


@pytest.fixture(params=["kubectl", "kubectl-old"])
async def kubectl(
    request: pytest.FixtureRequest, tmp_path: Path, node_speaks_websocket: bool, websockets: str
) -> AsyncIterator[Kubectl]:
    program = tool(request.param)
    async with front_and_node(tmp_path / "pki", websocket=node_speaks_websocket) as (front, ca):
        (tmp_path / "ca.crt").write_bytes(ca)
        (tmp_path / "kubeconfig").write_text(KUBECONFIG.format(port=front.port, ca=tmp_path / "ca.crt"))
        yield Kubectl(program, environment(tmp_path / "kubeconfig", tmp_path, websockets))


async def test_exec_gives_output_errors_and_exit_code(kubectl: Kubectl) -> None:
    code, out, err = await kubectl("exec", "p", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (code, out) == (7, b"out\n")
    assert err.startswith(b"err\n")
    assert b"command terminated with exit code 7" in err


async def test_exec_ends_stdin(kubectl: Kubectl) -> None:
    assert (await kubectl("exec", "-i", "p", "--", "cat", stdin=b"hi\n"))[:2] == (0, b"hi\n")


async def test_a_command_that_does_not_exist_says_so(kubectl: Kubectl) -> None:
    code, _, err = await kubectl("exec", "p", "--", "no-such-program")
    assert code == 1
    assert b"error executing command in container" in err


async def test_ten_megabytes_go_there_and_back(kubectl: Kubectl) -> None:
    content = os.urandom(1 << 20) * 10
    assert (await kubectl("exec", "-i", "p", "--", "cat", stdin=content))[:2] == (0, content)


async def test_a_command_may_end_before_its_input(kubectl: Kubectl) -> None:
    code, out, _ = await kubectl("exec", "-i", "p", "--", "head", "-c", "3", stdin=b"x" * 5_000_000)
    assert (code, out) == (0, b"xxx")


async def test_attach_reaches_the_process(kubectl: Kubectl) -> None:
    assert (await kubectl("attach", "-i", "p", stdin=b"hello\n"))[:2] == (0, b"hello\n")


async def test_logs_come_from_the_node(kubectl: Kubectl) -> None:
    code, out, _ = await kubectl("logs", "p", "--tail=3", "--timestamps")
    assert (code, out) == (0, b"/containerLogs/default/p/main?tailLines=3&timestamps=true\nsecond line\n")


async def test_a_terminal_gets_its_size(kubectl: Kubectl) -> None:
    command = "until stty size | grep '33 77'; do :; done"
    inside = f'stty rows 33 cols 77; {kubectl.program} exec -it p -- sh -c "{command}"'
    code, out, _ = await Kubectl("script", kubectl.environment)("-qec", inside, "/dev/null")
    assert code == 0
    assert b"33 77" in out


async def test_port_forward_carries_several_connections(kubectl: Kubectl) -> None:
    async with echo_server() as port:
        process = await kubectl.start("port-forward", "p", f":{port}")
        local = await forwarded_port(process)
        assert await asyncio.gather(*(exchange(local, 200_000) for _ in range(8))) == [True] * 8
        process.terminate()
        await process.communicate()


async def test_port_forward_reports_a_port_where_nobody_listens(kubectl: Kubectl) -> None:
    process = await kubectl.start("port-forward", "p", ":1")
    reader, writer = await asyncio.open_connection("127.0.0.1", await forwarded_port(process))
    assert await reader.read() == b""
    writer.close()
    if process.returncode is None:
        process.terminate()
    _, err = await process.communicate()
    assert b"connection refused" in err
