# SPDX-License-Identifier: Apache-2.0
"""Whatever a client sends to a shim or to the network holder, the pods live on and others are served."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests import hostile
from tests.integration.runtime.pods import Pod, Pods

from springtide.local import control_sockets
from springtide.local.network import netd_client

REQUESTS: tuple[dict[str, Any], ...] = (
    {"do": "start", "container": "main", "attempt": 7},
    {"do": "stop", "container": "other", "grace": 1, "signal": "SIGTERM"},
    {"do": "exec", "container": "main", "argv": ["true"], "tty": False, "env": {}},
    {"do": "attach", "container": "main", "stdout": False},
    {"do": "resize", "container": "main", "width": 10, "height": 10},
    {"do": "socket", "kind": "tcp"},
    {"do": "allow", "container": "main", "argv": ["true"], "ticket": "t", "tty": False},
)
HOLDER: tuple[dict[str, Any], ...] = (
    {"do": "attach", "pod": "p", "address": "10.244.1.2"},
    {"do": "listen", "address": "10.96.0.1", "port": 1, "protocol": "tcp"},
    {"do": "socket", "kind": "tcp"},
    {"do": "table", "table": {"services": [{"name": "x"}]}},
)


def connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    control_sockets.at_directory(str(path), connection.connect)  # waits where the queue of connections is full
    connection.settimeout(20)
    return connection


def throw(path: Path, lines: list[bytes]) -> list[bytes]:
    """The answer to each line, every one on a connection of its own."""
    answers = []
    for line in lines:
        with connected(path) as connection:
            answers.append(hostile.sent(connection, line + b"\n"))
    return answers


async def a_pod(pods: Pods, **more: Any) -> tuple[Pod, Path]:
    place = pods.data / "exec" / "p.sock"
    place.parent.mkdir(exist_ok=True)
    pod = await pods.make(exec_socket=str(place), **more)
    await pod.script("while :; do sleep 1; done")
    return pod, place


async def serves(pod: Pod, place: Path) -> None:
    """The pod still runs, and a client with a ticket is served."""
    await pod.shim.allow("good", "main", ["sh", "-c", "echo served"])
    assert await asyncio.to_thread(with_ticket, place, "good") == (b"served\n", 0)
    assert [state.status for state in await pod.shim.states()] == ["running"]
    assert "Traceback" not in pod.shim_log()


def with_ticket(place: Path, ticket: str) -> tuple[bytes, int]:
    reading, writing = os.pipe()
    with connected(place) as connection, open(reading, "rb") as output, open(os.devnull, "rb") as nothing:
        line = json.dumps({"ticket": ticket}).encode() + b"\n"
        socket.send_fds(connection, [line], [nothing.fileno(), writing, writing])
        os.close(writing)
        answers = connection.makefile("rb")
        assert json.loads(answers.readline()).get("ok")
        return output.read(), json.loads(answers.readline())["exited"]


@pytest.fixture(params=["namespaces", "none"])
async def victim(request: pytest.FixtureRequest, data: Path) -> Any:
    if request.param == "namespaces":
        request.getfixturevalue("namespaces")
    pods = Pods(data, "")
    yield await a_pod(pods, isolation=request.param)
    await pods.end()


async def test_no_line_ends_a_shim(victim: tuple[Pod, Path]) -> None:
    pod, place = victim
    lines = [*hostile.LINES.values(), *hostile.malformed({"ticket": "x"})]
    for answer in await asyncio.to_thread(throw, place, lines):
        assert not answer or "error" in json.loads(answer)
    await asyncio.to_thread(throw, pod.directory / "shim.sock", list(hostile.LINES.values()))
    await serves(pod, place)


async def test_no_wrong_field_ends_a_shim(victim: tuple[Pod, Path]) -> None:
    pod, place = victim
    lines = [line for request in REQUESTS for line in hostile.malformed(request)]
    await asyncio.to_thread(throw, pod.directory / "shim.sock", lines)
    await serves(pod, place)


async def test_a_line_without_an_end_is_cut_off(victim: tuple[Pod, Path]) -> None:
    pod, place = victim
    with connected(place) as connection:
        answer = await asyncio.to_thread(hostile.sent, connection, b"x" * 5_000_000)
    assert json.loads(answer)["error"] == "a message of more than 1024 bytes"
    with connected(pod.directory / "shim.sock") as connection:
        answer = await asyncio.to_thread(hostile.sent, connection, b"x" * 5_000_000)
    assert json.loads(answer)["reason"] == "BadRequest"
    await serves(pod, place)


async def test_more_descriptors_than_a_command_needs_are_cut_off(victim: tuple[Pod, Path]) -> None:
    pod, place = victim
    before = len(os.listdir(f"/proc/{pod.shim.pid}/fd"))
    with ExitStack() as stack:
        nothing = os.open(os.devnull, os.O_RDONLY)
        stack.callback(os.close, nothing)
        for _ in range(20):
            connection = stack.enter_context(connected(place))
            socket.send_fds(connection, [b"{"], [nothing] * 16)
            assert await asyncio.to_thread(connection.recv, 1) == b""
    await serves(pod, place)
    assert len(os.listdir(f"/proc/{pod.shim.pid}/fd")) < before + 5


async def test_silent_and_slow_clients_do_not_use_up_a_shim(victim: tuple[Pod, Path]) -> None:
    pod, place = victim
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(place)) for _ in range(300)]
        for client in clients[-30:]:
            client.sendall(b"{")
        await serves(pod, place)
        assert len(os.listdir(f"/proc/{pod.shim.pid}/fd")) < 100
        for client in clients[:200]:
            assert client.recv(1) == b""
    await serves(pod, place)


async def test_a_shim_without_a_free_descriptor_waits_for_one(victim: tuple[Pod, Path]) -> None:
    pod, place = victim
    used = len(os.listdir(f"/proc/{pod.shim.pid}/fd"))
    hard = resource.prlimit(pod.shim.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pod.shim.pid, resource.RLIMIT_NOFILE, (used + 3, hard))
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(pod.directory / "shim.sock"))
        spent = processor_time(pod.shim.pid)
        await asyncio.sleep(0.5)
        assert processor_time(pod.shim.pid) - spent < 0.3
    resource.prlimit(pod.shim.pid, resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    await serves(pod, place)


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_no_message_ends_the_network_holder(networked: Pods) -> None:
    place = netd_client.socket_path(networked.data)
    holder = await netd_client.ensure(networked.data)
    lines = [*hostile.LINES.values(), *(line for request in HOLDER for line in hostile.malformed(request))]
    await asyncio.to_thread(throw, place, lines)
    with connected(place) as connection:
        await asyncio.to_thread(hostile.sent, connection, b"x" * (1 << 20))
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connected(place)).sendall(b"{")
        assert await netd_client.ensure(networked.data) == holder
        pod = await networked.make()
        assert "eth0" in await pod.output("cat /proc/net/dev")
    assert "Traceback" not in (networked.data / "network" / "holder.log").read_text()
