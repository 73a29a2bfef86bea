# SPDX-License-Identifier: Apache-2.0
"""`grpc.health.v1.Health/Check` by hand: one request over HTTP/2 without TLS, and the necessary part of the response.

A health check sends two frames and needs a single byte of the response, which does not justify an HTTP/2 library.
Headers are sent as plain literals, which every server must understand, and received ones are not decoded: the status is
in the message; a response without a message counts as a failure, whatever its trailers are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from springtide.local.kubelet.probes.answers import Answer

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7
_END_STREAM, _END_HEADERS, _ACK, _PADDED = 0x1, 0x4, 0x1, 0x8
_STATES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_LARGEST = 1 << 16


async def check(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, service: str, authority: str) -> Answer:
    writer.write(_PREFACE + _frame(_SETTINGS, 0, 0, b"") + _question(service, authority))
    await writer.drain()
    while True:
        kind, flags, payload = await _next_frame(reader)
        if kind == _SETTINGS and not flags & _ACK:
            writer.write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            writer.write(_frame(_PING, _ACK, 0, payload))
        elif kind == _DATA and payload:
            return _verdict(payload[1 : -payload[0] or None] if flags & _PADDED else payload)
        elif kind in (_RESET, _GOAWAY) or (kind in (_HEADERS, _DATA) and flags & _END_STREAM):
            return Answer(False, "error: health rpc probe failed: the server refused the health check")


def _question(service: str, authority: str) -> bytes:
    headers = _literals(
        (
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/grpc.health.v1.Health/Check"),
            (":authority", authority),
            ("content-type", "application/grpc"),
            ("user-agent", "kube-probe/1.36"),
            ("te", "trailers"),
        )
    )
    name = service.encode()
    message = b"\x0a" + _varint(len(name)) + name if name else b""
    body = b"\x00" + len(message).to_bytes(4, "big") + message
    return _frame(_HEADERS, _END_HEADERS, 1, headers) + _frame(_DATA, _END_STREAM, 1, body)


def _verdict(payload: bytes) -> Answer:
    """The message is `status = 1` as a varint; an empty one is the default, UNKNOWN."""
    message = payload[5:]
    number = message[1] if len(message) >= 2 and message[0] == 0x08 else 0
    if number == 1:
        return Answer(True, "service healthy")
    return Answer(False, f'service unhealthy (responded with "{_STATES.get(number, str(number))}")')


def _literals(headers: Iterable[tuple[str, str]]) -> bytes:
    """Literal header fields without indexing and without Huffman codes; every name and value here is short."""
    return b"".join(b"\x00" + _string(name) + _string(value) for name, value in headers)


def _string(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data if len(data) < 127 else b"\x7f" + _varint(len(data) - 127) + data


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


async def _next_frame(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    head = await reader.readexactly(9)
    length = int.from_bytes(head[:3], "big")
    if length > _LARGEST:
        raise ConnectionAbortedError(f"a frame of {length} bytes was not asked for")
    return head[3], head[4], await reader.readexactly(length)
