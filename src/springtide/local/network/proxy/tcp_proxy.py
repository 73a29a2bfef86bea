# SPDX-License-Identifier: Apache-2.0
"""TCP connections to a service's address, forwarded to one of its endpoints.

Bytes are moved by `splice` and stay in the kernel. Each direction ends separately, so that a program may shut down its
side and still receive the answer; a reset on one side becomes a reset on the other. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct

from springtide.local.network.loop import READ, WRITE, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from springtide.local.network.proxy.backends import Backends, ServicePort, Target

_CHUNK = 1 << 20
_ROUNDS = 8
"""Moves per wake-up: one busy connection must not delay all others."""
_RESET = struct.pack("ii", 1, 0)
_CONNECT_PATIENCE = 5.0
_SPARE_PIPES = 64
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_REST = 0.1


class TcpProxy:
    def __init__(self, loop: Loop, service_port: ServicePort, backends: Backends) -> None:
        self._loop, self._backends = loop, backends
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind((service_port[0], service_port[1]))
            self._listener.listen(1024)
        except OSError:
            self._listener.close()
            raise
        self._listener.setblocking(False)
        loop.watch(self._listener, READ, self._accept)

    def close(self) -> None:
        """Stops accepting connections; established ones continue."""
        self._loop.forget(self._listener)
        self._listener.close()

    def settle(self) -> None:
        """Endpoints changed: established connections keep theirs."""

    def _accept(self) -> None:
        for _ in range(64):
            try:
                client, (host, _) = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as problem:
                if problem.errno not in _FULL:
                    raise
                self._loop.forget(self._listener)  # it stays readable: without a pause, a busy loop
                self._loop.later(_REST, self._resume)
                return
            client.setblocking(False)
            _Dialing(self._loop, client, host, self._backends)

    def _resume(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.watch(self._listener, READ, self._accept)


class _Dialing:
    """A client waiting for the first endpoint that accepts it."""

    def __init__(self, loop: Loop, client: socket.socket, host: str, backends: Backends) -> None:
        self._loop, self._client, self._host, self._backends = loop, client, host, backends
        self._left = backends.order(host, loop.now())
        self._sock: socket.socket | None = None
        self._target: Target | None = None
        self._next()

    def _next(self) -> None:
        if not self._left:
            reset(self._client)
            return
        target = self._target = self._left.pop(0)
        sock = self._sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        code = sock.connect_ex(target)
        if code not in (0, errno.EINPROGRESS):
            sock.close()
            self._next()
            return
        self._loop.watch(sock, WRITE, self._connected)
        self._loop.later(_CONNECT_PATIENCE, lambda: self._late(sock))

    def _connected(self) -> None:
        sock = self._sock
        if sock is None or self._target is None:
            return
        self._loop.forget(sock)
        self._sock = None
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            sock.close()
            self._next()
            return
        self._backends.used(self._host, self._target, self._loop.now())
        Relay(self._loop, self._client, sock)

    def _late(self, sock: socket.socket) -> None:
        if self._sock is sock:
            self._loop.forget(sock)
            sock.close()
            self._sock = None
            self._next()


class Relay:
    """Two connected sockets, joined until both directions have ended."""

    def __init__(self, loop: Loop, one: socket.socket, other: socket.socket) -> None:
        self._loop = loop
        self._sockets = one, other
        for sock in self._sockets:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._there, self._back = _Direction(one, other), _Direction(other, one)
        self._move()

    def _move(self) -> None:
        try:
            for direction in (self._there, self._back):
                direction.move()
        except OSError:
            self._end(broken=True)
            return
        if self._there.done and self._back.done:
            self._end(broken=False)
            return
        one, other = self._sockets
        self._loop.watch(one, self._there.reads | self._back.writes, self._move)
        self._loop.watch(other, self._back.reads | self._there.writes, self._move)

    def _end(self, broken: bool) -> None:
        for direction in (self._there, self._back):
            direction.close()
        for sock in self._sockets:
            self._loop.forget(sock)
            (reset if broken else socket.socket.close)(sock)


class _Direction:
    """From a socket through a pipe to another socket."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self._source, self._sink = source, sink
        self._pipe: tuple[int, int] | None = None
        self._held = 0
        self._ended = self.done = False

    @property
    def reads(self) -> int:
        return 0 if self._ended or self._held else READ

    @property
    def writes(self) -> int:
        return WRITE if self._held else 0

    def move(self) -> None:
        """Moves as much as possible without blocking. OSError when either side is broken."""
        for _ in range(_ROUNDS):
            if self.done or not (self._fill() and self._drain()):
                break
        if self._pipe is not None and not self._held:
            _give_back(self._pipe)
            self._pipe = None

    def _fill(self) -> bool:
        if self._held or self._ended:
            return True
        if self._pipe is None:
            self._pipe = _take_pipe()
        try:
            self._held = os.splice(self._source.fileno(), self._pipe[1], _CHUNK, flags=os.SPLICE_F_NONBLOCK)
        except BlockingIOError:
            return False
        self._ended = not self._held
        return True

    def _drain(self) -> bool:
        while self._held and self._pipe is not None:
            try:
                flags = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
                self._held -= os.splice(self._pipe[0], self._sink.fileno(), self._held, flags=flags)
            except BlockingIOError:
                return False
        if self._ended:
            self.done = True
            with contextlib.suppress(OSError):  # the other side may be closed already
                self._sink.shutdown(socket.SHUT_WR)
        return True

    def close(self) -> None:
        if self._pipe is not None:
            for end in self._pipe:
                os.close(end)
            self._pipe = None


_spare: list[tuple[int, int]] = []
"""Empty pipes for reuse: an idle connection holds none, an active one need not create one."""


def _take_pipe() -> tuple[int, int]:
    return _spare.pop() if _spare else os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)


def _give_back(pipe: tuple[int, int]) -> None:
    if len(_spare) < _SPARE_PIPES:
        _spare.append(pipe)
    else:
        for end in pipe:
            os.close(end)


def reset(sock: socket.socket) -> None:
    """Closes with a TCP reset, so that the other side sees a failure."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    sock.close()
