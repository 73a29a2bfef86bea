# SPDX-License-Identifier: Apache-2.0
"""The remote-command protocols: one exec or attach as five streams, over SPDY or over a WebSocket.

SPDY (`v4.channel.k8s.io`) uses one SPDY stream with a `streamtype` header for each. A WebSocket puts the channel's
number before every message; `v5.channel.k8s.io` adds the message `255 n`, which closes channel n, so that stdin can end
while the output continues. With either, the side that runs the process uses a `Command`.

The server half (`serve`) is for nodes, which run processes; the client half (`open_command`) is for their clients,
including the API server when it translates WebSocket to SPDY (`translation.py`).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from springtide.local.streams.duplex import Duplex, Finished, Inbox, Input, Output, first_failure
from springtide.local.streams.head import RequestHead, ResponseHead, plain_response
from springtide.local.streams.session import Session, Stream
from springtide.local.streams.websocket import BINARY, TEXT, WebSocket, switching

STDIN, STDOUT, STDERR, ERROR, RESIZE = 0, 1, 2, 3, 4
CLOSE_SIGNAL: Final = 255
V5: Final = "v5.channel.k8s.io"
WEBSOCKET_PROTOCOLS: Final = (
    V5,
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
)
SPDY_PROTOCOL: Final = "v4.channel.k8s.io"  # every client since Kubernetes 1.4 offers it
PROTOCOL_HEADER: Final = "X-Stream-Protocol-Version"
STREAMS_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The streams that an exec or attach requests."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False

    def spdy_streams(self) -> tuple[str, ...]:
        """In the order in which clients open them."""
        asked = {"error": True, "stdin": self.stdin, "stdout": self.stdout, "stderr": self.stderr, "resize": self.tty}
        return tuple(name for name, wanted in asked.items() if wanted)


@dataclass(frozen=True, slots=True)
class Command:
    """The streams of a process, from its own side. `resize` yields JSON documents, `report` sends the final Status."""

    stdin: Input | None
    stdout: Output | None
    stderr: Output | None
    resize: Input | None
    report: Callable[[bytes], Awaitable[None]]


Status = dict[str, Any]
Run = Callable[[Command], Awaitable[Status]]


def exited(code: int) -> Status:
    """The Status on the error stream when the process has exited; clients exit with the code in it."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def failed(message: str) -> Status:
    """The Status when the process could not be run, or its exit code is unknown."""
    text = f"Internal error occurred: {message}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": text,
        "reason": "InternalError",
        "details": {"causes": [{"message": message}]},
        "code": 500,
    }


async def serve(head: RequestHead, duplex: Duplex, wanted: Wanted, run: Run) -> None:
    """Answer an upgrade request, run the command on its streams and report its exit."""
    if head.upgrade == "websocket":
        await _serve_websocket(head, duplex, wanted, run)
    elif head.upgrade == "spdy/3.1":
        await _serve_spdy(head, duplex, wanted, run)
    else:
        await duplex.write(plain_response(400, "unable to upgrade: missing upgrade headers in request"))
        await duplex.close()


async def _run_and_report(run: Run, command: Command, gone: Awaitable[None]) -> None:
    """Run until the command ends or the client disconnects, which cancels the run."""

    async def job() -> None:
        status = await run(command)
        for output in (command.stdout, command.stderr):
            if output is not None:
                await output.write_eof()
        await command.report(msgspec.json.encode(status))
        raise Finished

    async def leave() -> None:
        await gone
        raise Finished

    with contextlib.suppress(ConnectionError):
        await first_failure(job(), leave())


# --- SPDY ---


def negotiated(head: RequestHead, offered: tuple[str, ...]) -> str | None:
    """The client's first protocol that the server supports; None when there is none."""
    asked = head.listed(PROTOCOL_HEADER)
    return next((protocol for protocol in asked if protocol in offered), None)


def spdy_switching(protocol: str) -> bytes:
    headers = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), (PROTOCOL_HEADER, protocol))
    return ResponseHead(headers, 101).render()


def no_protocol(head: RequestHead, offered: tuple[str, ...]) -> bytes:
    asked = " ".join(head.listed(PROTOCOL_HEADER))
    return plain_response(
        403,
        f"unable to upgrade: unable to negotiate protocol: client supports [{asked}], "
        f"server accepts [{' '.join(offered)}]",
    )


async def _serve_spdy(head: RequestHead, duplex: Duplex, wanted: Wanted, run: Run) -> None:
    protocol = negotiated(head, (SPDY_PROTOCOL,))
    if protocol is None:
        await duplex.write(no_protocol(head, (SPDY_PROTOCOL,)))
        await duplex.close()
        return
    await duplex.write(spdy_switching(protocol))
    async with Session(duplex, server=True) as session:
        with contextlib.suppress(TimeoutError, ConnectionError):
            streams = await asyncio.wait_for(_accept(session, set(wanted.spdy_streams())), STREAMS_TIMEOUT)
            await _run_and_report(run, _spdy_command(streams), session.closed())


async def _accept(session: Session, expected: set[str]) -> dict[str, Stream]:
    streams: dict[str, Stream] = {}
    while expected - streams.keys():
        stream = await session.accept()
        if stream is None:
            raise ConnectionResetError("the client left before it had opened its streams")
        kind = stream.headers.get("streamtype", "")
        if kind not in expected or kind in streams:
            await stream.reset()
            continue
        await stream.reply()
        streams[kind] = stream
    return streams


def _spdy_command(streams: Mapping[str, Stream]) -> Command:
    error = streams["error"]

    async def report(status: bytes) -> None:
        await error.write(status)
        await error.write_eof()

    get = streams.get
    return Command(get("stdin"), get("stdout"), get("stderr"), get("resize"), report)


async def open_command(session: Session, wanted: Wanted) -> dict[str, Stream]:
    """The client half: the streams by type, each accepted by the peer; `error` is always included."""
    return {kind: await session.open({"streamtype": kind}) for kind in wanted.spdy_streams()}


# --- WebSocket ---


class Channels:
    """The numbered channels of a WebSocket, from the server's side."""

    def __init__(self, socket: WebSocket, protocol: str, readable: set[int]) -> None:
        self._socket = socket
        self._base64 = "base64" in protocol
        self._can_close = protocol == V5
        self._inboxes = {number: Inbox() for number in readable}

    def input(self, number: int) -> Input:
        return self._inboxes[number]

    def output(self, number: int) -> Output:
        return _ChannelOutput(self, number)

    async def send(self, number: int, data: bytes) -> None:
        if self._base64:
            await self._socket.send(b"%d" % number + base64.b64encode(data), TEXT)
        else:
            await self._socket.send(bytes((number,)) + data, BINARY)

    async def closed(self) -> None:
        """Dispatch incoming messages to the channels until the client disconnects."""
        try:
            while (message := await self._socket.receive()) is not None:
                await self._sort(message)
        finally:
            for inbox in self._inboxes.values():
                inbox.finish()

    async def _sort(self, message: bytes) -> None:
        if not message:
            return
        if self._can_close and message[0] == CLOSE_SIGNAL:
            inbox = self._inboxes.get(message[1]) if len(message) == 2 else None
            if inbox is not None:
                inbox.finish()
            return
        number, data = message[0], message[1:]
        if self._base64:
            number -= ord("0")
            try:
                data = base64.b64decode(data)
            except binascii.Error:
                return
        inbox = self._inboxes.get(number)
        if inbox is not None:
            await inbox.feed(data)


class _ChannelOutput:
    def __init__(self, channels: Channels, number: int) -> None:
        self._channels, self._number = channels, number

    async def write(self, data: bytes) -> None:
        if data:
            await self._channels.send(self._number, data)

    async def write_eof(self) -> bool:
        return False  # clients of a WebSocket detect the end by the final status


async def accept_websocket(head: RequestHead, duplex: Duplex, offered: tuple[str, ...]) -> tuple[WebSocket, str] | None:
    """Finish the handshake with the first protocol that both support; None after rejecting a client without one."""
    if head.method != "GET":
        await duplex.write(plain_response(405, "bad method"))
        await duplex.close()
        return None
    asked = head.listed("sec-websocket-protocol")
    protocol = next((name for name in asked if name in offered), None if asked else "")
    if protocol is None or not head.get("sec-websocket-key"):
        await duplex.write(plain_response(403, f"requested protocol(s) are not supported: [{' '.join(asked)}]"))
        await duplex.close()
        return None
    await duplex.write(switching(head, protocol))
    return WebSocket(duplex), protocol


def websocket_command(socket: WebSocket, protocol: str, wanted: Wanted) -> tuple[Command, Channels]:
    channels = Channels(socket, protocol, {STDIN, RESIZE} if wanted.stdin else {RESIZE})
    structured = protocol.startswith(("v4.", "v5."))

    async def report(status: bytes) -> None:
        await channels.send(ERROR, status if structured else _as_text(status))

    command = Command(
        channels.input(STDIN) if wanted.stdin else None,
        channels.output(STDOUT) if wanted.stdout else None,
        channels.output(STDERR) if wanted.stderr else None,
        channels.input(RESIZE),
        report,
    )
    return command, channels


def _as_text(status: bytes) -> bytes:
    """Before version 4 the error channel carried a plain message, and nothing on success."""
    message: str = msgspec.json.decode(status).get("message", "")
    return message.encode()


async def greet(channels: Channels, wanted: Wanted) -> None:
    """Send an empty message on the lowest channel, which tells the client that the connection is established."""
    await channels.send(STDOUT if wanted.stdout else STDERR if wanted.stderr else ERROR, b"")


async def _serve_websocket(head: RequestHead, duplex: Duplex, wanted: Wanted, run: Run) -> None:
    accepted = await accept_websocket(head, duplex, WEBSOCKET_PROTOCOLS)
    if accepted is None:
        return
    socket, protocol = accepted
    command, channels = websocket_command(socket, protocol, wanted)
    try:
        await greet(channels, wanted)
        await _run_and_report(run, command, channels.closed())
    finally:
        await socket.close()
