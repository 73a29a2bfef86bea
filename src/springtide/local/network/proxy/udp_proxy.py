# SPDX-License-Identifier: Apache-2.0
"""Datagrams to a service's address, forwarded to one of its endpoints, and the answers back.

Each client (address and port) has its own socket towards its endpoint, kept until both sides are idle. Standard library
only.
"""

from __future__ import annotations

import contextlib
import errno
import socket

from springtide.local.network.loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from springtide.local.network.proxy.backends import Backends, ServicePort, Target

    Client = tuple[str, int]

IDLE = 120.0
_SWEEP = 30.0
_MOST_SESSIONS = 4096
_LARGEST = 65535


class UdpProxy:
    def __init__(self, loop: Loop, service_port: ServicePort, backends: Backends) -> None:
        self._loop, self._backends = loop, backends
        self._sessions: dict[Client, _Session] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((service_port[0], service_port[1]))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        loop.watch(self._socket, READ, self._receive)
        loop.later(_SWEEP, self._sweep)

    def close(self) -> None:
        for session in list(self._sessions.values()):
            session.close()
        self._sessions.clear()
        self._loop.forget(self._socket)
        self._socket.close()

    def settle(self) -> None:
        """Endpoints changed: drops sessions to removed endpoints, because their clients would not notice."""
        self._end(lambda session: session.target not in self._backends.targets)

    def reply(self, data: bytes, client: Client) -> None:
        with contextlib.suppress(OSError):  # datagrams may be lost
            self._socket.sendto(data, client)

    def drop(self, client: Client) -> None:
        session = self._sessions.pop(client, None)
        if session is not None:
            session.close()

    def _receive(self) -> None:
        for _ in range(64):
            try:
                data, client = self._socket.recvfrom(_LARGEST)
            except OSError:
                return
            session = self._sessions.get(client) or self._open(client)
            if session is not None:
                session.send(data)

    def _open(self, client: Client) -> _Session | None:
        if len(self._sessions) >= _MOST_SESSIONS:
            self.drop(min(self._sessions, key=lambda known: self._sessions[known].spoke))
        now = self._loop.now()
        for target in self._backends.order(client[0], now):
            try:
                session = _Session(self._loop, self, client, target)
            except OSError:
                continue
            self._backends.used(client[0], target, now)
            self._sessions[client] = session
            return session
        return None

    def _sweep(self) -> None:
        if self._socket.fileno() < 0:
            return
        now = self._loop.now()
        self._end(lambda session: now - session.spoke > IDLE)
        self._loop.later(_SWEEP, self._sweep)

    def _end(self, over: Callable[[_Session], bool]) -> None:
        for client in [client for client, session in self._sessions.items() if over(session)]:
            self.drop(client)


class _Session:
    def __init__(self, loop: Loop, proxy: UdpProxy, client: Client, target: Target) -> None:
        self._loop, self._proxy, self._client = loop, proxy, client
        self.target, self.spoke = target, loop.now()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            self._socket.connect(target)
        except OSError:
            self._socket.close()
            raise
        loop.watch(self._socket, READ, self._receive)

    def send(self, data: bytes) -> None:
        self.spoke = self._loop.now()
        try:
            self._socket.send(data)
        except OSError as problem:
            if problem.errno == errno.ECONNREFUSED:
                self._proxy.drop(self._client)  # port closed: the next datagram may use another endpoint

    def close(self) -> None:
        self._loop.forget(self._socket)
        self._socket.close()

    def _receive(self) -> None:
        for _ in range(64):
            try:
                data = self._socket.recv(_LARGEST)
            except BlockingIOError:
                return
            except OSError:
                self._proxy.drop(self._client)
                return
            self.spoke = self._loop.now()
            self._proxy.reply(data, self._client)
