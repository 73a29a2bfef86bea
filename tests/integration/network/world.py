# SPDX-License-Identifier: Apache-2.0
"""The world outside: a server that says who called, and a DNS server that knows one name."""

from __future__ import annotations

import socket
import struct
import threading


def answer(question: bytes) -> bytes:
    end = question.index(b"\0", 12) + 5
    known = question[12:end].lower().startswith(b"\x07example\x03com\0\0\x01")
    head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if known else 0, 0, 0)
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton("203.0.113.7")
    return head + question[12:end] + (record if known else b"")


def names() -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("203.0.113.7", 53))
    while True:
        question, asker = sock.recvfrom(4096)
        sock.sendto(answer(question), asker)


def names_by_stream() -> None:
    listener = socket.create_server(("203.0.113.7", 53))
    while True:
        peer, _ = listener.accept()
        (length,) = struct.unpack("!H", peer.recv(2, socket.MSG_WAITALL))
        told = answer(peer.recv(length, socket.MSG_WAITALL))
        peer.sendall(struct.pack("!H", len(told)) + told)
        peer.close()


for serve in (names, names_by_stream):
    threading.Thread(target=serve, daemon=True).start()
listener = socket.create_server(("203.0.113.7", 8000))
while True:
    peer, (address, _) = listener.accept()
    peer.sendall(b"you are " + address.encode())
    peer.close()
