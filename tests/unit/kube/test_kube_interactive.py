# SPDX-License-Identifier: Apache-2.0
"""Commands with stdin and a terminal, against a scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.interactive import Size, interact
from springtide.kube.request import Request
from springtide.kube.resources import Key
from springtide.kube.transport import WebSocket

SUCCESS = b"\x03" + msgspec.json.encode({"status": "Success"})


def failed(code: int) -> bytes:
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return b"\x03" + msgspec.json.encode({"status": "Failure", "details": {"causes": causes}})


class Socket:
    """Sends a message once so many were received."""

    def __init__(self, protocol: str, script: Sequence[tuple[int, bytes]]) -> None:
        self.protocol, self._script = protocol, list(script)
        self.sent: list[bytes] = []
        self._arrived = asyncio.Event()

    async def receive(self) -> bytes | None:
        if not self._script:
            return None
        count, message = self._script.pop(0)
        while len(self.sent) < count:
            self._arrived.clear()
            await self._arrived.wait()
        return message

    async def send(self, message: bytes) -> None:
        self.sent.append(message)
        self._arrived.set()


class Api(FakeApi):
    def __init__(self, *script: tuple[int, bytes], protocol: str = "v5.channel.k8s.io") -> None:
        super().__init__()
        self.socket = Socket(protocol, script)
        self.request: Request | None = None

    @asynccontextmanager
    async def websocket(self, request: Request, protocols: Sequence[str]) -> AsyncGenerator[WebSocket, None]:
        self.request = request
        yield self.socket


class Console:
    def __init__(self, *typed: bytes) -> None:
        self.typed = list(typed)
        self.shown: list[tuple[bytes, bool]] = []

    async def read(self) -> bytes:
        return self.typed.pop(0) if self.typed else b""

    async def write(self, data: bytes, *, error: bool) -> None:
        self.shown.append((data, error))

    async def sizes(self) -> AsyncIterator[Size]:
        yield Size(80, 24)
        yield Size(100, 30)


async def run(api: Api, console: Console, *, tty: bool = False) -> int:
    return await interact(Client(api), Key("team", "w-0"), "main", ["sh", "-c", "a b"], console, tty=tty)


async def test_input_is_sent_and_ended_and_the_output_shown() -> None:
    api, console = Api((3, b"\x01out"), (3, b"\x02err"), (3, SUCCESS)), Console(b"one", b"two")
    assert await run(api, console) == 0
    assert api.socket.sent == [b"\x00one", b"\x00two", b"\xff\x00"]
    assert console.shown == [(b"out", False), (b"err", True)]
    assert api.request is not None
    assert api.request.target == (
        "/api/v1/namespaces/team/pods/w-0/exec?container=main&stdin=true&stdout=true&stderr=true"
        "&command=sh&command=-c&command=a+b"
    )


async def test_a_terminal_has_a_size_and_one_output() -> None:
    api, console = Api((3, b"\x01$ "), (3, failed(7))), Console()
    assert await run(api, console, tty=True) == 7
    sizes = [msgspec.json.decode(each[1:]) for each in api.socket.sent if each[:1] == b"\x04"]
    assert sizes == [{"Width": 80, "Height": 24}, {"Width": 100, "Height": 30}]
    assert api.request is not None
    assert "stderr" not in api.request.target
    assert "tty=true" in api.request.target


async def test_an_older_server_is_not_sent_what_it_does_not_know() -> None:
    api = Api((1, SUCCESS), protocol="v4.channel.k8s.io")
    assert await run(api, Console(b"x" * 70_000)) == 0
    assert all(each[:1] == b"\x00" and len(each) <= 32769 for each in api.socket.sent)


@pytest.mark.parametrize(
    ("script", "protocol", "message"),
    [
        ([(0, b"\x01half")], "v5.channel.k8s.io", "the connection was closed before the command ended"),
        ([(0, b"\x03" + b" " * 70_000)], "v5.channel.k8s.io", "exit status of the command is too long"),
        ([], "", "supports none of the protocols"),
    ],
)
async def test_what_is_no_end_is_an_error(script: list[Any], protocol: str, message: str) -> None:
    with pytest.raises(errors.ApiError, match=message):
        await run(Api(*script, protocol=protocol), Console())


async def test_a_program_that_does_not_exist_is_an_error() -> None:
    status = {"status": "Failure", "reason": "InternalError", "code": 500, "message": "no such program"}
    with pytest.raises(errors.ApiError, match="no such program"):
        await run(Api((0, b"\x03" + msgspec.json.encode(status))), Console())
