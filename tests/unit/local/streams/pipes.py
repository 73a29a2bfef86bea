# SPDX-License-Identifier: Apache-2.0
"""Two ends of a connection in memory, with so little room that back-pressure shows."""

from __future__ import annotations

import asyncio

from springtide.local.streams.duplex import Duplex
from springtide.local.streams.websocket import encode, masked


class End:
    """One end of a pair."""

    def __init__(self, incoming: asyncio.Queue[bytes], outgoing: asyncio.Queue[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self.closed = self._ended = False
        self.other: End | None = None

    async def read(self) -> bytes:
        if self.closed or self._ended:
            return b""
        data = await self._incoming.get()
        self._ended = not data
        return data

    async def write(self, data: bytes) -> None:
        if self.closed or (self.other is not None and self.other.closed):
            raise ConnectionResetError("closed")
        await self._outgoing.put(data)

    async def write_eof(self) -> bool:
        await self._outgoing.put(b"")
        return True

    async def close(self) -> None:
        if not self.closed:
            self.closed = True
            _make_room(self._outgoing).put_nowait(b"")
            _make_room(self._incoming)


def _make_room(queue: asyncio.Queue[bytes]) -> asyncio.Queue[bytes]:
    """Free a writer that waits for the end that just closed."""
    while queue.full():
        queue.get_nowait()
    return queue


def pair(room: int = 4) -> tuple[End, End]:
    there: asyncio.Queue[bytes] = asyncio.Queue(room)
    back: asyncio.Queue[bytes] = asyncio.Queue(room)
    left, right = End(there, back), End(back, there)
    left.other, right.other = right, left
    return left, right


async def read_all(duplex: Duplex) -> bytes:
    parts = []
    while data := await duplex.read():
        parts.append(data)
    return b"".join(parts)


def frame(opcode: int, payload: bytes, *, fin: bool = True, mask: bytes = b"mask") -> bytes:
    """As a client sends it."""
    plain = bytearray(encode(opcode, payload))
    if not fin:
        plain[0] &= 0x7F
    plain[1] |= 0x80
    start = len(plain) - len(payload)
    return bytes(plain[:start]) + mask + masked(payload, mask)
