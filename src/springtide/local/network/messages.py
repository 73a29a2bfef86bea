# SPDX-License-Identifier: Apache-2.0
"""The protocol of control sockets: one JSON object per line, file descriptors attached to its first byte.

`Conversation` is the blocking client side; `Incoming` collects messages on a server's socket. Socket paths may be
longer than the 107 bytes that an address holds, so both ends go through a descriptor of the directory. Received
messages are bounded in length, depth and number of descriptors. Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque

from springtide.local.bounded_json import check_depth
from springtide.local.control_sockets import Lines, at_directory, pack_fds, unpack_fds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_DESCRIPTORS = 8
LONGEST = 64 << 20
_CHUNK = 65536


class Refused(Exception):
    """The server understood the request and rejected it."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


def listen(path: str) -> socket.socket:
    """A non-blocking listener at `path`, replacing a socket that a dead predecessor left there."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = f"{path}.new"
    if os.path.lexists(fresh):
        os.unlink(fresh)
    at_directory(fresh, listener.bind)
    os.chmod(fresh, 0o600)
    listener.listen(256)
    listener.setblocking(False)
    os.rename(fresh, path)  # atomically: the path always names a socket that is listening
    return listener


def connect(path: str, timeout: float | None) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(timeout)
    try:
        at_directory(path, sock.connect)
    except OSError:
        sock.close()
        raise
    return sock


def send(sock: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Sends the whole message or raises OSError; on a non-blocking socket only for answers sure to fit its buffer."""
    line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    if not descriptors:
        sock.sendall(line)
        return
    sent = sock.sendmsg([line], pack_fds(descriptors))
    sock.sendall(line[sent:])


class Incoming:
    """The bytes received on a socket so far, split into messages."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._incomplete = Lines(LONGEST)
        self._lines: deque[bytes] = deque()
        self._descriptors: list[int] = []

    def read(self) -> bool:
        """Reads available data; False at the end of the stream or beyond a limit."""
        data, ancillary, _, _ = self._socket.recvmsg(
            _CHUNK, socket.CMSG_SPACE(MOST_DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC
        )
        self._descriptors += unpack_fds(ancillary)
        try:
            self._lines.extend(self._incomplete.feed(data))
        except ValueError:
            return False
        return bool(data) and len(self._descriptors) <= MOST_DESCRIPTORS

    def take(self) -> tuple[dict[str, Any], list[int]] | None:
        """The next whole message with its descriptors, which the caller must close. ValueError for invalid JSON."""
        if not self._lines:
            return None
        line = self._lines.popleft()
        descriptors, self._descriptors = self._descriptors, []
        try:
            text = line.decode()
            check_depth(text)
            message = json.loads(text)
            if not isinstance(message, dict):
                raise ValueError("a message is a JSON object")
        except ValueError:
            close_all(descriptors)
            raise
        return message, descriptors

    def close(self) -> None:
        close_all(self._descriptors)
        self._descriptors = []


def close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class Conversation:
    """Requests and answers over one connection, each within the timeout."""

    def __init__(self, path: str, timeout: float) -> None:
        self._socket = connect(path, timeout)
        self._incoming = Incoming(self._socket)

    def ask(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        """The answer and its descriptors. Raises Refused, OSError or ValueError."""
        send(self._socket, message, descriptors)
        while (answer := self._incoming.take()) is None:
            if not self._incoming.read():
                raise ConnectionResetError("the connection was closed before an answer arrived")
        body, received = answer
        if "error" in body:
            close_all(received)
            raise Refused(str(body["error"]), str(body.get("reason", "")))
        return body, received

    def socket(self) -> socket.socket:
        """The connection itself, now owned by the caller: it closes when the server exits."""
        self._incoming.close()
        self._socket.setblocking(False)
        return self._socket

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._incoming.close()
        self._socket.close()
