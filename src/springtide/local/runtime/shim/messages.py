# SPDX-License-Identifier: Apache-2.0
"""Lines of JSON over Unix sockets, and the file descriptors that ride on them."""

from __future__ import annotations

import errno
import os
import select
import struct

from springtide.local.runtime.shim.kernel import Refusal, describe
from springtide.local.runtime.shim.notation import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from typing import Any

    from springtide.local.runtime.shim.loop import Loop

    Obj = dict[str, Any]
else:
    import _socket as socket


MAX_MESSAGE = 1 << 22
MAX_FDS = 16
MAX_BACKLOG = 1 << 20


def pack_fds(fds: Sequence[int]) -> list[tuple[int, int, bytes]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []


def unpack_fds(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    found: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    for fd in found:
        os.set_inheritable(fd, False)
    return found


def at_directory(path: str, act: Callable[[str], None]) -> None:
    """Bind or connect a socket by a short name for its path, which may be longer than an address can hold."""
    if len(os.fsencode(path)) < 100 or not os.path.isdir("/proc/self/fd"):
        act(path)
        return
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        act(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)


def ask(connection: socket.socket, message: Obj, fds: Sequence[int] = ()) -> tuple[Obj, list[int]]:
    """One request and its answer on a blocking connection."""
    connection.sendmsg([encode(message).encode() + b"\n"], pack_fds(fds))
    text, received = b"", list[int]()
    while not text.endswith(b"\n"):
        data, ancillary, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(64))
        received += unpack_fds(ancillary)
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "the connection was closed")
        text += data
    answer = decode(text)
    if "error" in answer:
        raise Refusal(str(answer.get("reason", "Error")), str(answer["error"]))
    return answer, received


class Client:
    """One connection to the shim: requests in as lines, answers out, descriptors beside either."""

    def __init__(self, loop: Loop, connection: socket.socket, serve: Callable[[Client, Obj, list[int]], None]) -> None:
        self.loop = loop
        self.connection = connection
        self.fd = connection.fileno()
        self.serve = serve
        self.on_close: list[Callable[[], None]] = []
        self.open = True
        self._inbox = b""
        self._fds: list[int] = []
        self._outbox = b""
        connection.setblocking(False)
        loop.watch(self.fd, select.POLLIN, self._ready)

    def _ready(self, events: int) -> None:
        if events & select.POLLOUT:
            self._flush()
        if self.open and events & ~select.POLLOUT:
            self._receive()

    def _receive(self) -> None:
        try:
            data, ancillary, _, _ = self.connection.recvmsg(65536, socket.CMSG_SPACE(64))
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        self._fds += unpack_fds(ancillary)
        self._inbox += data
        if not data or len(self._inbox) > MAX_MESSAGE or len(self._fds) > MAX_FDS:
            self.close()
            return
        while self.open and b"\n" in self._inbox:
            line, _, self._inbox = self._inbox.partition(b"\n")
            fds, self._fds = self._fds, []
            self._request(line, fds)

    def _request(self, line: bytes, fds: list[int]) -> None:
        try:
            message = decode(line)
            if not isinstance(message, dict):
                raise ValueError("not an object")
            self.serve(self, message, fds)
        except Refusal as refusal:
            self.refuse(refusal.reason, str(refusal))
        except (KeyError, TypeError, ValueError) as error:
            self.refuse("BadRequest", f"cannot read the request: {error!r}")
        except OSError as error:
            self.refuse("Error", describe(error))
        finally:
            for fd in fds:  # whoever needs one longer has made a copy
                os.close(fd)

    def refuse(self, reason: str, message: str) -> None:
        self.send({"error": message, "reason": reason})

    def send(self, message: Obj, fds: Sequence[int] = ()) -> None:
        if not self.open:
            return
        data = encode(message).encode() + b"\n"
        if self._outbox:
            self._outbox += data
        else:
            try:
                sent = self.connection.sendmsg([data], pack_fds(fds))
            except BlockingIOError:
                sent = 0
            except OSError:
                self.close()
                return
            self._outbox = data[sent:]
        if len(self._outbox) > MAX_BACKLOG:  # a reader that does not read must not fill the shim's memory
            self.close()
        elif self._outbox:
            self.loop.watch(self.fd, select.POLLIN | select.POLLOUT, self._ready)

    def _flush(self) -> None:
        try:
            self._outbox = self._outbox[self.connection.send(self._outbox) :]
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if not self._outbox:
            self.loop.watch(self.fd, select.POLLIN, self._ready)

    def close(self) -> None:
        if not self.open:
            return
        self.open = False
        self.loop.forget(self.fd)
        self.connection.close()
        for fd in self._fds:
            os.close(fd)
        for act in self.on_close:
            act()
