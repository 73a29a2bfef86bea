# SPDX-License-Identifier: Apache-2.0
"""The pods' DNS server: cluster names from its `Zone`, all others from the host's resolvers.

Resolvers are queried from the host's own network (127.0.0.53 is reachable only there), and only if pods have an uplink:
otherwise such names are refused at once instead of resolving to unreachable addresses. A malformed packet gets an error
or no answer. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from functools import partial

from springtide.local.network.loop import READ, WRITE, Loop
from springtide.local.network.names import dns
from springtide.local.network.names.dns import BadMessage, Question, Record
from springtide.local.network.names.zone import Zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from springtide.local.network.kernel.outside import Outside

    Reply = Callable[[bytes], None]

ADDRESS, PORT = "10.96.0.10", 53
SETTINGS = "/etc/resolv.conf"
_PATIENCE, _TRIES = 1.5, 3
_MOST_WAITING, _MOST_PEERS = 4096, 256
_ACCEPT_PAUSE = 0.1
_IDLE = 20.0


class Resolver:
    def __init__(self, loop: Loop, outside: Outside, leads_out: Callable[[], bool]) -> None:
        self.zone = Zone({})
        self._loop, self._leads_out = loop, leads_out
        self._upstream = _Upstream(loop, outside)
        self._peers = 0
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for sock in (self._udp, self._tcp):
            sock.bind((ADDRESS, PORT))
        self._tcp.listen(128)
        loop.watch(self._udp, READ, self._datagrams)
        loop.watch(self._tcp, READ, self._accept)

    def _datagrams(self) -> None:
        for _ in range(128):
            try:
                packet, asker = self._udp.recvfrom(dns.LARGEST)
            except OSError:
                return
            self.asked(packet, partial(self._send, asker), None)

    def _send(self, asker: tuple[str, int], answer: bytes) -> None:
        with contextlib.suppress(OSError):
            self._udp.sendto(answer, asker)

    def _accept(self) -> None:
        try:
            sock, _ = self._tcp.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # no descriptor is free; until one is, the listener would stay ready
            self._loop.forget(self._tcp)
            self._loop.later(_ACCEPT_PAUSE, lambda: self._loop.watch(self._tcp, READ, self._accept))
            return
        if self._peers >= _MOST_PEERS:
            sock.close()
            return
        self._peers += 1
        _Peer(self._loop, sock, self)

    def left(self) -> None:
        self._peers -= 1

    def asked(self, packet: bytes, reply: Reply, limit: int | None) -> None:
        """`limit`: the longest answer; None: by UDP, as the question specifies."""
        try:
            question = dns.parse_question(packet)
        except BadMessage as bad:
            if bad.code is not None:
                reply(dns.failure(packet, bad.code))
            return
        room = limit or question.size or dns.SMALLEST
        if not self.zone.owns(question.name):
            self._forward(question, packet, reply, by_stream=limit is not None)
            return
        found = self.zone.find(question.name, question.kind, question.identity)
        if found.elsewhere and question.kind in (dns.A, dns.AAAA) and self._leads_out():
            self._complete(question, found.records, found.elsewhere, reply, room)
            return
        authorities = () if found.records else (self.zone.authority,)
        reply(dns.answer(question, found.code, found.records, authorities, limit=room))

    def _forward(self, question: Question, packet: bytes, reply: Reply, *, by_stream: bool) -> None:
        if not self._leads_out():
            reply(dns.answer(question, dns.REFUSED, own=False))
            return

        def come(answer: bytes | None) -> None:
            if answer is None:
                reply(dns.answer(question, dns.SERVER_FAILURE, own=False))
            else:
                reply(packet[:2] + answer[2:])

        self._upstream.ask(packet, come, by_stream=by_stream)

    def _complete(self, question: Question, records: list[Record], name: str, reply: Reply, room: int) -> None:
        """Resolves an alias to an external name: programs expect its address in the same answer."""

        def come(answer: bytes | None) -> None:
            try:
                code, more = dns.parse_answer(answer or b"")
            except BadMessage:
                code, more = dns.SERVER_FAILURE, []
            reply(dns.answer(question, code, [*records, *more], limit=room))

        self._upstream.ask(dns.query(0, name, question.kind), come, by_stream=False)


class _Upstream:
    """The host's resolvers, tried in turn until one answers."""

    def __init__(self, loop: Loop, outside: Outside) -> None:
        self._loop, self._outside = loop, outside
        self._sockets: dict[str, socket.socket] = {}
        self._waiting: dict[int, _Waiting] = {}

    def ask(self, packet: bytes, come: Callable[[bytes | None], None], *, by_stream: bool) -> None:
        """`come` is called once, with the answer or with None."""
        servers = nameservers()
        if not servers or len(self._waiting) >= _MOST_WAITING:
            come(None)
        elif by_stream:
            self._ask_by_stream(servers[0], packet, come)
        else:
            number = self._number()
            waiting = self._waiting[number] = _Waiting(number.to_bytes(2, "big") + packet[2:], servers, come)
            self._try(number, waiting)

    def _ask_by_stream(self, server: str, packet: bytes, come: Callable[[bytes | None], None]) -> None:
        try:
            sock = self._outside.socket("tcp6" if ":" in server else "tcp4")
        except OSError:
            come(None)
            return
        _Exchange(self._loop, sock, server, packet, come)

    def _number(self) -> int:
        while (number := int.from_bytes(os.urandom(2), "big")) in self._waiting:
            pass
        return number

    def _try(self, number: int, waiting: _Waiting) -> None:
        if self._waiting.get(number) is not waiting:
            return  # answered
        if waiting.tries == _TRIES:
            del self._waiting[number]
            waiting.come(None)
            return
        server = waiting.servers[waiting.tries % len(waiting.servers)]
        waiting.tries += 1
        with contextlib.suppress(OSError):
            self._socket("udp6" if ":" in server else "udp4").sendto(waiting.packet, (server, PORT))
        self._loop.later(_PATIENCE, lambda: self._try(number, waiting))

    def _socket(self, kind: str) -> socket.socket:
        sock = self._sockets.get(kind)
        if sock is None:
            sock = self._sockets[kind] = self._outside.socket(kind)
            self._loop.watch(sock, READ, lambda: self._receive(sock))
        return sock

    def _receive(self, sock: socket.socket) -> None:
        for _ in range(128):
            try:
                packet, (server, port, *_) = sock.recvfrom(dns.LARGEST)
            except OSError:
                return
            number = int.from_bytes(packet[:2], "big")
            waiting = self._waiting.get(number)
            if waiting is not None and port == PORT and server in waiting.servers and len(packet) >= 12:
                del self._waiting[number]
                waiting.come(packet)


class _Waiting:
    __slots__ = ("come", "packet", "servers", "tries")

    def __init__(self, packet: bytes, servers: list[str], come: Callable[[bytes | None], None]) -> None:
        self.packet, self.servers, self.come, self.tries = packet, servers, come, 0


def nameservers(path: str = SETTINGS) -> list[str]:
    """The host's current resolvers; the file changes when a laptop changes its network."""
    try:
        with open(path) as file:
            words = [line.split() for line in file]
    except OSError:
        return []
    return [line[1].partition("%")[0] for line in words if len(line) > 1 and line[0] == "nameserver"]


class _Framed:
    """A TCP connection with length-prefixed messages."""

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self._loop, self._socket = loop, sock
        self._in, self._out = bytearray(), bytearray()
        sock.setblocking(False)
        self._closed = False
        loop.later(_IDLE, self.close)

    def send(self, packet: bytes) -> None:
        if not self._closed:
            self._out += struct.pack("!H", len(packet)) + packet
            self._loop.watch(self._socket, READ | WRITE, self._ready)

    def _ready(self) -> None:
        try:
            if self._out:
                with contextlib.suppress(BlockingIOError):
                    del self._out[: self._socket.send(self._out)]
            self._loop.watch(self._socket, READ | (WRITE if self._out else 0), self._ready)
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._in += data
        self._messages()
        if not data:
            with contextlib.suppress(OSError):  # a client that has shut down its side may still read the answer
                self._socket.send(self._out)
            self.close()

    def _messages(self) -> None:
        while len(self._in) >= 2:
            length = int.from_bytes(self._in[:2], "big")
            if len(self._in) < 2 + length:
                return
            packet = bytes(self._in[2 : 2 + length])
            del self._in[: 2 + length]
            self.received(packet)

    def received(self, packet: bytes) -> None:
        raise NotImplementedError

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.forget(self._socket)
            self._socket.close()
            self.ended()

    def ended(self) -> None:
        raise NotImplementedError


class _Peer(_Framed):
    """A TCP client."""

    def __init__(self, loop: Loop, sock: socket.socket, resolver: Resolver) -> None:
        super().__init__(loop, sock)
        self._resolver = resolver
        loop.watch(sock, READ, self._ready)

    def received(self, packet: bytes) -> None:
        self._resolver.asked(packet, self.send, dns.LARGEST)

    def ended(self) -> None:
        self._resolver.left()


class _Exchange(_Framed):
    """One question to a host resolver by TCP."""

    def __init__(
        self, loop: Loop, sock: socket.socket, server: str, packet: bytes, come: Callable[[bytes | None], None]
    ) -> None:
        super().__init__(loop, sock)
        self._come: Callable[[bytes | None], None] | None = come
        try:
            sock.connect((server, PORT))
        except BlockingIOError:
            pass  # expected: the connect is in progress
        except OSError:
            self.close()
            return
        self.send(packet)

    def received(self, packet: bytes) -> None:
        self._finish(packet)
        self.close()

    def ended(self) -> None:
        self._finish(None)

    def _finish(self, answer: bytes | None) -> None:
        come, self._come = self._come, None
        if come is not None:
            come(answer)
