# SPDX-License-Identifier: Apache-2.0
"""Links, addresses and routes by rtnetlink messages to the kernel; no `ip` command is needed.

The functions above `Route` only build bytes. `Route` sends one message over a NETLINK_ROUTE socket and waits for the
kernel's acknowledgement, which is immediate. The socket acts on the network namespace it was created in, whichever
namespace its process is in now. Standard library only: netd runs without site-packages.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

NEW_LINK, DELETE_LINK, GET_LINK, NEW_ADDRESS, NEW_ROUTE = 16, 17, 18, 20, 24
_REQUEST, _ACK, _EXCLUSIVE, _CREATE, _REPLACE = 0x1, 0x4, 0x200, 0x400, 0x100
_CREATES = _CREATE | _EXCLUSIVE

_LINK = struct.Struct("=BxHiII")  # family, device type, index, flags, change mask
_ADDRESS = struct.Struct("=BBBBi")  # family, prefix length, flags, scope, index
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, dst/src lengths, tos, table, protocol, scope, type, flags
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port

_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_NET_NS_FD = 1, 3, 10, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_OIF, _RTA_GATEWAY = 1, 4, 5
_IFF_UP = 0x1
_TABLE_MAIN, _TABLE_LOCAL, _PROTOCOL_STATIC = 254, 255, 4
_SCOPE_GLOBAL, _SCOPE_HOST, _TYPE_UNICAST, _TYPE_LOCAL = 0, 254, 1, 2
_ERROR = 2
_TIMEOUT = 5.0


def attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def message(kind: int, flags: int, body: bytes, sequence: int) -> bytes:
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body


def bridge(name: str, hardware: bytes) -> bytes:
    """With its own MAC address: the default is the lowest of its ports', and changes with them."""
    info = attribute(_IFLA_LINKINFO, _text(_INFO_KIND, "bridge"))
    return _LINK.pack(0, 0, 0, 0, 0) + _text(_IFLA_IFNAME, name) + attribute(_IFLA_ADDRESS, hardware) + info


def veth(name: str, master: int, peer: str, hardware: bytes, namespace: int) -> bytes:
    """A veth pair: the near end up and a port of the bridge, the peer in the namespace of that file descriptor."""
    other = _LINK.pack(0, 0, 0, 0, 0) + _text(_IFLA_IFNAME, peer) + attribute(_IFLA_ADDRESS, hardware)
    data = attribute(_INFO_DATA, attribute(_VETH_PEER, other + _number(_IFLA_NET_NS_FD, namespace)))
    info = attribute(_IFLA_LINKINFO, _text(_INFO_KIND, "veth") + data)
    bridged = _number(_IFLA_MASTER, master) if master else b""
    return _LINK.pack(0, 0, 0, _IFF_UP, _IFF_UP) + _text(_IFLA_IFNAME, name) + bridged + info


def link_up(index: int) -> bytes:
    return _LINK.pack(0, 0, index, _IFF_UP, _IFF_UP)


def link_named(name: str) -> bytes:
    return _LINK.pack(0, 0, 0, 0, 0) + _text(_IFLA_IFNAME, name)


def address(index: int, ip: str, prefix: int) -> bytes:
    raw = socket.inet_aton(ip)
    head = _ADDRESS.pack(socket.AF_INET, prefix, 0, _SCOPE_GLOBAL, index)
    return head + attribute(_IFA_LOCAL, raw) + attribute(_IFA_ADDRESS, raw)


def default_route(gateway: str) -> bytes:
    head = _ROUTE.pack(socket.AF_INET, 0, 0, 0, _TABLE_MAIN, _PROTOCOL_STATIC, _SCOPE_GLOBAL, _TYPE_UNICAST, 0)
    return head + attribute(_RTA_GATEWAY, socket.inet_aton(gateway))


def local_route(network: str, prefix: int, index: int) -> bytes:
    """A route that makes every address of the network local, without configuring each one."""
    head = _ROUTE.pack(socket.AF_INET, prefix, 0, 0, _TABLE_LOCAL, _PROTOCOL_STATIC, _SCOPE_HOST, _TYPE_LOCAL, 0)
    return head + attribute(_RTA_DST, socket.inet_aton(network)) + _number(_RTA_OIF, index)


class Route:
    """One rtnetlink socket. Failures are OSError with the kernel's error number."""

    def __init__(self, sock: socket.socket | None = None) -> None:
        self._socket = sock or socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.settimeout(_TIMEOUT)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def create(self, kind: int, body: bytes) -> None:
        self._ask(kind, _CREATES | _ACK, body)

    def ensure(self, kind: int, body: bytes) -> None:
        """Creates; an existing object is no error."""
        try:
            self.create(kind, body)
        except FileExistsError:
            return

    def change(self, kind: int, body: bytes) -> None:
        self._ask(kind, _ACK, body)

    def replace(self, kind: int, body: bytes) -> None:
        self._ask(kind, _CREATE | _REPLACE | _ACK, body)

    def index(self, name: str) -> int:
        """The index of a link; OSError ENODEV when no link has that name."""
        answer = self._ask(GET_LINK, 0, link_named(name))
        return int(_LINK.unpack_from(answer)[2])

    def remove_link(self, name: str) -> None:
        """Removes a link; a missing link is no error."""
        try:
            self._ask(DELETE_LINK, _ACK, link_named(name))
        except OSError as problem:
            if problem.errno != errno.ENODEV:
                raise

    def _ask(self, kind: int, flags: int, body: bytes) -> bytes:
        self._sequence += 1
        self._socket.send(message(kind, _REQUEST | flags, body, self._sequence))
        while True:
            answer = self._socket.recv(65536)
            _, answered, _, sequence, _ = _HEADER.unpack_from(answer)
            if sequence != self._sequence:
                continue  # the rest of an answer to an earlier, abandoned request
            if answered == _ERROR:
                (code,) = struct.unpack_from("=i", answer, _HEADER.size)
                if code:
                    raise OSError(-code, os.strerror(-code))
            return answer[_HEADER.size :]
