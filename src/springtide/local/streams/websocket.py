# SPDX-License-Identifier: Apache-2.0
"""WebSocket (RFC 6455) over any `Duplex`: handshake, messages, and SPDY tunnelled in binary messages.

aiohttp has WebSockets of its own, but an upgraded connection here has left aiohttp (`takeover.py`), so that SPDY and
WebSocket are handled alike. No extensions are offered, as kubectl requests none.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import struct
from collections import deque
from typing import Final

from springtide.local.streams.duplex import Duplex, linger
from springtide.local.streams.head import RequestHead, ResponseHead

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_OPCODES: Final = (0, TEXT, BINARY, CLOSE, PING, PONG)
MAX_MESSAGE: Final = 16 << 20
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class WebSocketError(ValueError):
    """The peer violates the protocol."""


def accept_key(key: str) -> str:
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()


def switching(head: RequestHead, subprotocol: str) -> bytes:
    """The 101 response to a client's handshake."""
    headers = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", accept_key(head.get("sec-websocket-key"))),
    ]
    if subprotocol:
        headers.append(("Sec-WebSocket-Protocol", subprotocol))
    return ResponseHead(tuple(headers), 101).render()


def encode(opcode: int, payload: bytes) -> bytes:
    """One unfragmented, unmasked frame, as servers send."""
    length = len(payload)
    if length < 126:
        return bytes((0x80 | opcode, length)) + payload
    if length < 1 << 16:
        return struct.pack(">BBH", 0x80 | opcode, 126, length) + payload
    return struct.pack(">BBQ", 0x80 | opcode, 127, length) + payload


def masked(payload: bytes, mask: bytes) -> bytes:
    """XOR with the repeated mask, as one big number: a loop over bytes would take a second for 10 MB."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(key, "little")).to_bytes(size, "little")


class Parser:
    """Bytes in, whole messages out: (opcode, payload), control frames included.

    `client`: the peer is a client, and must mask its frames.
    """

    def __init__(self, *, client: bool = False) -> None:
        self._client = client
        self._buffer = bytearray()
        self._whole = bytearray()  # of a fragmented message
        self._opcode = 0  # of a fragmented message; 0 between messages

    def receive(self, data: bytes) -> list[tuple[int, bytes]]:
        self._buffer += data
        messages = []
        while (frame := self._frame()) is not None:
            message = self._message(*frame)
            if message is not None:
                messages.append(message)
        return messages

    def _frame(self) -> tuple[bool, int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        fin, opcode = bool(buffer[0] & 0x80), buffer[0] & 0x0F
        self._check(buffer[0], buffer[1])
        length, at = buffer[1] & 0x7F, 2
        if length > 125:
            size = 2 if length == 126 else 8
            if len(buffer) < at + size:
                return None
            length, at = int.from_bytes(buffer[at : at + size], "big"), at + size
        if length + len(self._whole) > MAX_MESSAGE:
            raise WebSocketError("message is too long")
        mask_size = 4 if buffer[1] & 0x80 else 0
        start = at + mask_size
        if len(buffer) < start + length:
            return None
        payload = bytes(buffer[start : start + length])
        if mask_size:
            payload = masked(payload, bytes(buffer[at:start]))
        del buffer[: start + length]
        return fin, opcode, payload

    def _check(self, first: int, second: int) -> None:
        opcode = first & 0x0F
        if first & 0x70:
            raise WebSocketError("reserved bits are set")
        if opcode not in _OPCODES:
            raise WebSocketError("unknown opcode")
        if self._client and not second & 0x80:
            raise WebSocketError("a client's frame is not masked")
        if opcode >= CLOSE and (not first & 0x80 or second & 0x7F > 125):
            raise WebSocketError("malformed control frame")

    def _message(self, fin: bool, opcode: int, payload: bytes) -> tuple[int, bytes] | None:
        if opcode >= CLOSE:
            return opcode, payload
        if bool(opcode) == bool(self._opcode):
            raise WebSocketError("fragments out of order")
        if fin and opcode:
            return opcode, payload
        self._opcode = opcode or self._opcode
        self._whole += payload
        if not fin:
            return None
        message = self._opcode, bytes(self._whole)
        self._opcode = 0
        self._whole.clear()
        return message


class WebSocket:
    """The server's end of an open WebSocket."""

    def __init__(self, duplex: Duplex) -> None:
        self._duplex = duplex
        self._parser = Parser(client=True)
        self._messages: deque[tuple[int, bytes]] = deque()
        self._closing = False

    async def receive(self) -> bytes | None:
        """The next text or binary message; None when the peer closes or breaks the connection."""
        while True:
            while self._messages:
                opcode, payload = self._messages.popleft()
                if opcode == CLOSE:
                    await self._answer_close(payload)
                    return None
                if opcode == PING:
                    await self._duplex.write(encode(PONG, payload))
                elif opcode in (TEXT, BINARY):
                    return payload
            received = await self._duplex.read()
            if not received:
                return None
            try:
                self._messages.extend(self._parser.receive(received))
            except WebSocketError as problem:
                await self._answer_close(struct.pack(">H", 1002) + str(problem).encode())
                return None

    async def _answer_close(self, payload: bytes) -> None:
        if not self._closing:
            self._closing = True
            with contextlib.suppress(ConnectionError):
                await self._duplex.write(encode(CLOSE, payload))

    async def send(self, payload: bytes, opcode: int = BINARY) -> None:
        if self._closing:
            raise ConnectionResetError("the WebSocket is closed")
        await self._duplex.write(encode(opcode, payload))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        await self._answer_close(struct.pack(">H", code) + reason.encode()[:123])
        await linger(self._duplex)
        await self._duplex.close()


class Tunnel:
    """A `Duplex` whose bytes are sent in binary messages, as in kubectl's port-forward over WebSocket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        while (message := await self._socket.receive()) is not None:
            if message:
                return message
        return b""

    async def write(self, data: bytes) -> None:
        await self._socket.send(data)

    async def write_eof(self) -> bool:
        return False

    async def close(self) -> None:
        await self._socket.close()
