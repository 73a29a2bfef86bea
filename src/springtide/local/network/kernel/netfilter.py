# SPDX-License-Identifier: Apache-2.0
"""Address translation by nf_tables messages to the kernel; no `nft` or `iptables` command is needed.

One table with one chain masquerades packets that leave by a link with the link's own address. The functions build
bytes; `send` passes a batch to the kernel, which applies it as one transaction. Standard library only.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

from springtide.local.network.kernel.netlink import attribute, message

_NETFILTER = 12
_BATCH_BEGIN, _BATCH_END, _SUBSYSTEM = 16, 17, 10
_NEW_TABLE, _GET_TABLE, _DELETE_TABLE, _NEW_CHAIN, _NEW_RULE = 0, 1, 2, 3, 6
_REQUEST, _ACK, _DUMP, _CREATE, _APPEND = 0x1, 0x4, 0x300, 0x400, 0x800
_ERROR, _DONE = 2, 3
_NESTED = 0x8000
_POSTROUTING, _SOURCE_NAT = 4, 100
_OUT_LINK_NAME, _EQUAL, _REGISTER = 7, 0, 1
_CHAIN = "leaving"


def _text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!I", value))


def _nest(kind: int, *parts: bytes) -> bytes:
    return attribute(kind | _NESTED, b"".join(parts))


def _expression(name: str, *parts: bytes) -> bytes:
    return _nest(1, _text(1, name), _nest(2, *parts))


def _message(kind: int, flags: int, body: bytes) -> tuple[int, int, bytes]:
    return _SUBSYSTEM << 8 | kind, _REQUEST | _ACK | flags, struct.pack("!BBH", socket.AF_INET, 0, 0) + body


def masquerade(table: str, link: str) -> list[tuple[int, int, bytes]]:
    """The messages that create the table, replacing an existing table of that name."""
    hook = _nest(4, _number(1, _POSTROUTING), _number(2, _SOURCE_NAT))
    chain = _text(1, table) + _text(3, _CHAIN) + hook + _text(7, "nat")
    by_link = [
        _expression("meta", _number(1, _REGISTER), _number(2, _OUT_LINK_NAME)),
        _expression("cmp", _number(1, _REGISTER), _number(2, _EQUAL), _nest(3, attribute(1, _padded(link)))),
        _expression("masq"),
    ]
    rule = _text(1, table) + _text(2, _CHAIN) + _nest(4, *by_link)
    return [
        _message(_NEW_TABLE, _CREATE, _text(1, table)),
        *removal(table),
        _message(_NEW_TABLE, _CREATE, _text(1, table)),
        _message(_NEW_CHAIN, _CREATE, chain),
        _message(_NEW_RULE, _CREATE | _APPEND, rule),
    ]


def empty(table: str) -> list[tuple[int, int, bytes]]:
    """A table without rules: its name is a record that survives a killed process."""
    return [_message(_NEW_TABLE, _CREATE, _text(1, table))]


def removal(table: str) -> list[tuple[int, int, bytes]]:
    return [_message(_DELETE_TABLE, 0, _text(1, table))]


def _padded(link: str) -> bytes:
    return link.encode().ljust(16, b"\0")


def batch(messages: list[tuple[int, int, bytes]]) -> bytes:
    """One transaction; the messages are numbered from 1."""
    border = struct.pack("!BBH", 0, 0, _SUBSYSTEM)
    inner = [message(kind, flags, body, number) for number, (kind, flags, body) in enumerate(messages, 1)]
    begin = message(_BATCH_BEGIN, _REQUEST, border, 0)
    return b"".join([begin, *inner, message(_BATCH_END, _REQUEST, border, len(messages) + 1)])


def send(messages: list[tuple[int, int, bytes]]) -> None:
    """Raises OSError with the first error the kernel reports; then nothing was changed."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETFILTER) as sock:
        sock.settimeout(5.0)
        sock.send(batch(messages))
        acknowledged = 0
        while acknowledged < len(messages):
            answer = sock.recv(65536)
            at = 0
            while at < len(answer):
                length, _, _, _, _, code = struct.unpack_from("=IHHIIi", answer, at)
                if code:
                    raise OSError(-code, os.strerror(-code))
                acknowledged += 1
                at += -(-length // 4) * 4


def tables() -> list[str]:
    """The names of all tables."""
    kind, _, body = _message(_GET_TABLE, 0, b"")
    found: list[str] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETFILTER) as sock:
        sock.settimeout(5.0)
        sock.send(message(kind, _REQUEST | _DUMP, body, 1))
        while True:
            answer = sock.recv(65536)
            while answer:
                length, answered = struct.unpack_from("=IH", answer)
                if answered == _ERROR:
                    (code,) = struct.unpack_from("=i", answer, 16)
                    raise OSError(-code, os.strerror(-code))
                if answered == _DONE:
                    return found
                found += _names(answer[20:length])
                answer = answer[-(-length // 4) * 4 :]


def _names(attributes: bytes) -> list[str]:
    """The name is the first attribute; flags and counts follow it."""
    length, kind = struct.unpack_from("=HH", attributes)
    return [attributes[4:length].rstrip(b"\0").decode()] if kind == 1 else []


def remove(table: str) -> None:
    try:
        send(removal(table))
    except OSError as problem:
        if problem.errno != errno.ENOENT:
            raise
