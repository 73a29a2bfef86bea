# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.counting import CONNECT, NO_ANSWER, Counted
from springtide.kube.exec import KEPT_LINES, LONGEST_LINE, Ended, LastLines, TimedOut, execute, exit_code
from springtide.kube.limiting import Bucket, Limited
from springtide.kube.request import Request
from springtide.kube.request import execute as exec_request
from springtide.kube.resources import Key
from springtide.kube.transport import WebSocket

POD = Key("ns", "p")
NO_PROGRAM = {"status": "Failure", "reason": "InternalError", "code": 500, "message": "no such program"}
SUCCESS = {"metadata": {}, "status": "Success"}


def failure(code: str) -> dict[str, Any]:
    causes = [{"reason": "ExitCode", "message": code}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "message": "failed", "details": {"causes": causes}}


def told(status: Any) -> bytes:
    return b"\x03" + msgspec.json.encode(status)


class Socket:
    def __init__(self, messages: Sequence[bytes | Exception], protocol: str, *, stays_open: bool) -> None:
        self.protocol = protocol
        self._messages = list(messages)
        self._stays_open = stays_open

    async def receive(self) -> bytes | None:
        if self._messages:
            message = self._messages.pop(0)
            if isinstance(message, Exception):
                raise message
            return message
        if self._stays_open:
            await asyncio.Event().wait()
        return None

    async def send(self, message: bytes) -> None:
        raise AssertionError("a command without stdin is sent nothing")


class Api(FakeApi):
    """A server whose next exec consists of these messages."""

    def __init__(
        self, *messages: bytes | Exception, protocol: str = "v5.channel.k8s.io", stays_open: bool = False
    ) -> None:
        super().__init__()
        self._socket = Socket(messages, protocol, stays_open=stays_open)
        self.refusal: errors.ApiError | None = None
        self.wanted: list[Request] = []

    @asynccontextmanager
    async def websocket(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        self.wanted.append(request)
        if self.refusal is not None:
            raise self.refusal
        yield self._socket


async def run(api: Api, *words: str, timeout: float = 5.0) -> Ended:
    return await execute(Client(api), POD, "main", words or ("true",), timeout)


def test_words_and_container_are_in_the_query_and_no_shell_parses_them() -> None:
    wanted = exec_request(POD, "main", ["sh", "a b;c", ""])
    path = "/api/v1/namespaces/ns/pods/p/exec?container=main&stdout=true&stderr=true"
    assert wanted.target == f"{path}&command=sh&command=a+b%3Bc&command="


async def test_the_exit_code_and_the_output_are_returned() -> None:
    api = Api(b"\x01", b"\x01out\n", b"\x02err\n", told(failure("5")))
    assert await run(api) == Ended(5, "out\nerr")


async def test_success_is_exit_code_0() -> None:
    assert await run(Api(told(SUCCESS))) == Ended(0, "")


async def test_version_4_of_the_protocol_is_understood() -> None:
    assert await run(Api(told(SUCCESS), protocol="v4.channel.k8s.io")) == Ended(0, "")


async def test_a_server_that_chooses_no_protocol_is_an_error() -> None:
    with pytest.raises(errors.ServerError, match="supports none of the protocols"):
        await run(Api(told(SUCCESS), protocol=""))


async def test_output_after_the_exit_status_counts() -> None:
    assert (await run(Api(told(SUCCESS), b"\x01late\n"))).last_lines == "late"


async def test_a_connection_that_stays_open_or_breaks_after_the_exit_status_does_not_matter() -> None:
    assert await run(Api(told(SUCCESS), stays_open=True)) == Ended(0, "")
    assert await run(Api(told(SUCCESS), errors.Unreachable("reset"))) == Ended(0, "")


async def test_an_exit_status_may_come_in_pieces() -> None:
    whole = told(failure("7"))
    assert (await run(Api(b"\x03", whole[:20], b"\x03" + whole[20:]))).exit_code == 7


async def test_a_connection_that_ends_without_an_exit_status_is_unreachable() -> None:
    with pytest.raises(errors.Unreachable, match="before the exit status"):
        await run(Api(b"\x01half"))
    with pytest.raises(errors.Unreachable, match="reset"):
        await run(Api(b"\x01half", errors.Unreachable("reset")))


async def test_a_command_that_does_not_end_is_timed_out_with_its_last_lines() -> None:
    with pytest.raises(TimedOut, match=r"has not ended after 0\.05 s") as raised:
        await run(Api(b"\x01step 1\nstep", stays_open=True), timeout=0.05)
    assert raised.value.last_lines == "step 1\nstep"


async def test_a_refusal_is_the_error_of_any_request() -> None:
    api = Api()
    api.refusal = errors.NotFound('pods "p" not found', code=404)
    with pytest.raises(errors.NotFound, match="not found"):
        await run(api)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (NO_PROGRAM, errors.ServerError, "no such program"),
        (failure("many"), errors.ApiError, "failed"),
        ({"status": "Failure", "details": {"causes": None}}, errors.ApiError, "answered 0"),
        ({"status": "Failure", "details": 3}, errors.ApiError, "answered 0"),
        ([1], errors.ApiError, "answered 0"),
    ],
)
async def test_a_status_without_an_exit_code_is_an_error(status: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        await run(Api(told(status)))


async def test_an_endless_status_is_not_read_for_ever() -> None:
    with pytest.raises(errors.ServerError, match="too long"):
        await run(Api(b'\x03{"a": "' + b"x" * 40_000, b"\x03" + b"x" * 40_000))


def test_exit_code_of_a_status() -> None:
    assert exit_code(SUCCESS) == 0
    assert exit_code(failure("137")) == 137


async def test_messages_on_unknown_channels_are_ignored() -> None:
    assert await run(Api(b"", b"\xff\x01", b"\x09what", told(SUCCESS))) == Ended(0, "")


def test_only_the_last_lines_are_kept_and_each_is_cut() -> None:
    lines = LastLines(lines=3, longest=5)
    lines.add(1, b"".join(b"%d\n" % number for number in range(100_000)))
    assert lines.text() == "99997\n99998\n99999"
    lines.add(1, b"abcdefgh")
    lines.add(1, b"ijk\nrest")
    assert lines.text() == "99999\nabcde\nrest"


def test_lines_of_two_streams_do_not_mix() -> None:
    lines = LastLines()
    lines.add(1, b"half ")
    lines.add(2, b"error\n")
    lines.add(1, b"whole\r\n")
    assert lines.text() == "error\nhalf whole"


def test_what_is_kept_of_much_output_is_bounded() -> None:
    lines = LastLines()
    for _ in range(100):
        lines.add(1, b"x" * 100_000)
    lines.add(1, b"\n" + b"y\n" * 100_000)
    assert len(lines.text()) <= KEPT_LINES * (LONGEST_LINE + 1)
    assert lines.text() == "\n".join("y" * KEPT_LINES)


def test_output_need_not_be_text() -> None:
    lines = LastLines()
    lines.add(1, b"\xff\xfe\n")
    assert lines.text() == "\ufffd\ufffd"


async def test_a_transport_without_websockets_says_so() -> None:
    with pytest.raises(errors.MethodNotAllowed, match="cannot be upgraded"):
        await execute(Client(FakeApi()), POD, "main", ["true"], 5)


async def test_a_websocket_is_counted_with_its_code() -> None:
    counted: list[tuple[str, str]] = []
    api = Api(told(SUCCESS))
    client = Client(Limited(Counted(api, lambda *each: counted.append(each)), Bucket(100)))
    await execute(client, POD, "main", ["true"], 5)
    for refusal in (errors.NotFound("no pod", code=404), errors.Unreachable("nobody there")):
        api.refusal = refusal
        with pytest.raises(type(refusal)):
            await execute(client, POD, "main", ["true"], 5)
    assert counted == [(CONNECT, "101"), (CONNECT, "404"), (CONNECT, NO_ANSWER)]
