# SPDX-License-Identifier: Apache-2.0
"""Lines of JSON over Unix sockets, and the file descriptors sent with them.

Clients may be programs of other pods, so all their input is bounded: the length of a line, its depth (see
`json_lines`), the descriptors sent with it, the connections that have not proved a right to be there. No message ends
the process that serves it.
"""

from __future__ import annotations

import errno
import os
import select
import sys

from springtide.local.control_sockets import Lines, at_directory, pack_fds, unpack_fds
from springtide.local.runtime.shim.json_lines import decode, encode
from springtide.local.runtime.shim.kernel import Ignoring, Refusal, describe

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
MAX_REFUSAL = 4096
"""Characters of an error message, which may repeat a part of the request."""
ACCEPT_PAUSE = 0.1
"""Seconds to wait for a free descriptor when none is left for another connection."""


class Bounds:
    """Limits of one request of a client."""

    def __init__(self, message: int = MAX_MESSAGE, fds: int = MAX_FDS) -> None:
        self.message = message
        self.fds = fds


def ask(connection: socket.socket, message: Obj, fds: Sequence[int] = ()) -> tuple[Obj, list[int]]:
    """One request and its answer on a blocking connection."""
    connection.sendmsg([encode(message).encode() + b"\n"], pack_fds(fds))
    lines, incoming, received = list[bytes](), Lines(MAX_MESSAGE), list[int]()
    while not lines:
        data, ancillary, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(64))
        received += unpack_fds(ancillary)
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "the connection was closed")
        lines = incoming.feed(data)
    answer = decode(lines[0])
    if not isinstance(answer, dict):
        raise ValueError("an answer is a JSON object")
    if "error" in answer:
        raise Refusal(str(answer.get("reason", "Error")), str(answer["error"]))
    return answer, received


class Client:
    """One connection to the shim: requests in as lines, answers out, descriptors with either."""

    def __init__(
        self,
        loop: Loop,
        connection: socket.socket,
        serve: Callable[[Client, Obj, list[int]], None],
        bounds: Bounds | None = None,
    ) -> None:
        self.loop = loop
        self.connection = connection
        self.fd = connection.fileno()
        self.serve = serve
        self.on_close: list[Callable[[], None]] = []
        self.open = True
        self.proved = False
        """Whether the client has proved its right to be here, by a request that was granted."""
        self._bounds = bounds or Bounds()
        self._inbox = Lines(self._bounds.message)
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
        try:
            lines = self._inbox.feed(data)
        except ValueError as error:
            self.refuse("BadRequest", str(error))
            data = b""
        if not data or len(self._fds) > self._bounds.fds:
            self.close()
            return
        for line in lines:
            if self.open:
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
        except Exception:  # noqa: BLE001 - a fault of ours that a request has found must not end the pod
            sys.excepthook(*sys.exc_info())
            self.refuse("Error", "the request could not be served; see the shim's log")
        finally:
            for fd in fds:  # handlers that need one longer have duplicated it
                os.close(fd)

    def refuse(self, reason: str, message: str) -> None:
        self.send({"error": message[:MAX_REFUSAL], "reason": reason})

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
        if len(self._outbox) > MAX_BACKLOG:  # a client that does not read must not fill the shim's memory
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


class Listener:
    """A socket file and the clients that connect to it."""

    def __init__(
        self,
        loop: Loop,
        path: str,
        mode: int,
        serve: Callable[[Client, Obj, list[int]], None],
        bounds: Bounds | None = None,
        most_unproved: int | None = None,
    ) -> None:
        """With `most_unproved`, a further unproved client replaces the oldest unproved one."""
        self.path = path
        self._loop, self._serve, self._bounds, self._most = loop, serve, bounds, most_unproved
        self._unproved: list[Client] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with Ignoring(FileNotFoundError):
            os.unlink(path)
        at_directory(path, self._socket.bind)
        os.chmod(path, mode)
        self._socket.listen(64)
        self._socket.setblocking(False)
        self._watch()

    def _watch(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.watch(self._socket.fileno(), select.POLLIN, self._accept)

    def _accept(self, _: int) -> None:
        try:
            fd, _address = self._socket._accept()  # type: ignore[attr-defined]
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # no descriptor is free; the listener would be reported ready again and again until one is
            self._loop.forget(self._socket.fileno())
            self._loop.after(ACCEPT_PAUSE, self._watch)
            return
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd)
        client = Client(self._loop, connection, self._serve, self._bounds)
        if self._most is not None:
            self._unproved = [each for each in self._unproved if each.open and not each.proved]
            self._unproved.append(client)
            if len(self._unproved) > self._most:
                self._unproved[0].close()

    def close(self) -> None:
        self._loop.forget(self._socket.fileno())
        self._socket.close()
        with Ignoring(OSError):
            os.unlink(self.path)
