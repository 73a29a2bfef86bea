# SPDX-License-Identifier: Apache-2.0
"""Runs a command in a container, as `kubectl exec` does: no stdin, no terminal, the last lines of its output.

    ended = await execute(client, Key("default", "p"), "main", ["sh", "/scale.sh", "p:1"], timeout=60)
    ended.exit_code, ended.last_lines

One WebSocket with numbered channels (`v5.channel.k8s.io`, or v4 of older servers): stdout, stderr, and at the end a
Status with the exit code. A refusal before the command starts (no such pod or container, no right) is the error that
any other request would get; so is a Status without an exit code, such as one for a program that does not exist. If the
connection ends or time is up before the command has ended, it may still run: `Lost`, `TimedOut`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.resources import Key
from springtide.kube.transport import WebSocket

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDOUT, STDERR, STATUS = 1, 2, 3
KEPT_LINES: Final = 20
LONGEST_LINE: Final = 500
"""Bytes of a line that are kept."""
_LONGEST_STATUS: Final = 1 << 16
_LATE_OUTPUT: Final = 1.0
"""Seconds for output that arrives after the exit status, from servers that do not close the connection."""


class Lost(errors.Unreachable):
    """The connection ended before the command; it may still run."""

    def __init__(self, message: str, last_lines: str) -> None:
        super().__init__(message)
        self.last_lines = last_lines


class TimedOut(Lost):
    """The command has not ended in time; it may still run."""


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int
    last_lines: str
    """Of stdout and stderr, in the order in which they were completed."""


class LastLines:
    """The last lines of several streams. What it keeps is bounded, however much is written."""

    def __init__(self, lines: int = KEPT_LINES, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._whole: deque[bytes] = deque(maxlen=lines)
        self._begun: dict[int, bytes] = {}

    def add(self, stream: int, data: bytes) -> None:
        first, *others = data.rsplit(b"\n", self._whole.maxlen or 0)
        before, newline, first = first.rpartition(b"\n")
        if newline:
            self._end(stream, before)
        *whole, rest = first, *others
        for each in whole:
            self._end(stream, each)
        self._begun[stream] = self._longer(stream, rest)

    def _longer(self, stream: int, data: bytes) -> bytes:
        return (self._begun.get(stream, b"") + data[: self._longest])[: self._longest]

    def _end(self, stream: int, data: bytes) -> None:
        self._whole.append(self._longer(stream, data))
        self._begun[stream] = b""

    def text(self) -> str:
        unfinished = [each for each in self._begun.values() if each]
        lines = [*self._whole, *unfinished][-(self._whole.maxlen or 0) :]
        return "\n".join(each.decode(errors="replace").rstrip("\r") for each in lines)


async def execute(client: Client, pod: Key, container: str, argv: Sequence[str], timeout: float) -> Ended:
    """The end of the command. ApiError if it was not run, or if its end is unknown."""
    lines = LastLines()
    try:
        async with asyncio.timeout(timeout):
            return await _executed(client, request.execute(pod, container, argv), lines)
    except TimeoutError:
        raise TimedOut(f"the command has not ended after {timeout:g} s", lines.text()) from None


async def _executed(client: Client, wanted: request.Request, lines: LastLines) -> Ended:
    async with client.websocket(wanted, PROTOCOLS) as socket:
        if socket.protocol not in PROTOCOLS:
            raise errors.ServerError(f"the server supports none of the protocols {', '.join(PROTOCOLS)}")
        try:
            status = await _status(socket, lines)
        except errors.Unreachable as lost:
            raise Lost(str(lost), lines.text()) from lost
        await _late_output(socket, lines)
    return Ended(exit_code(status), lines.text())


async def _status(socket: WebSocket, lines: LastLines) -> Mapping[str, Any]:
    """Reads output until the Status has arrived."""
    statuses = Statuses()
    while (message := await socket.receive()) is not None:
        if message[:1] != bytes((STATUS,)):
            _take(message, lines)
        elif (status := statuses.add(message[1:])) is not None:
            return status
    raise errors.Unreachable("the connection was closed before the exit status of the command arrived")


class Statuses:
    """Puts together the messages of the status channel."""

    def __init__(self) -> None:
        self._received = b""

    def add(self, data: bytes) -> Mapping[str, Any] | None:
        """The Status, once it is complete."""
        self._received += data
        if len(self._received) > _LONGEST_STATUS:
            raise errors.ServerError("the exit status of the command is too long")
        return _decoded(self._received) if self._received else None


async def _late_output(socket: WebSocket, lines: LastLines) -> None:
    """The outcome is known, so a connection that breaks now does not matter."""
    try:
        async with asyncio.timeout(_LATE_OUTPUT):
            while (message := await socket.receive()) is not None:
                _take(message, lines)
    except (TimeoutError, errors.Unreachable):
        return


def _take(message: bytes, lines: LastLines) -> None:
    if message and message[0] in (STDOUT, STDERR):
        lines.add(message[0], message[1:])


def _decoded(data: bytes) -> Mapping[str, Any] | None:
    try:
        status = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None  # the rest of it has not arrived yet
    return status if isinstance(status, dict) else {}


def exit_code(status: Mapping[str, Any]) -> int:
    """The exit code in a Status; ApiError for one that has none."""
    if status.get("status") == "Success":
        return 0
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            code = str(cause.get("message", ""))
            if code.isascii() and code.isdigit():
                return int(code)
    raise errors.from_status(status)
