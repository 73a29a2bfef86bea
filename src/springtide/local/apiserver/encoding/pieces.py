# SPDX-License-Identifier: Apache-2.0
"""Splitting of long responses into pieces.

A client that reads slowly keeps one piece in the server's memory, not the whole response, and other requests are served
while the next piece is made.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from springtide.event_loop.slices import Slices

PIECE: Final = 32 * 1024
"""Bytes per write. A connection holds them several times: plain and encrypted."""

Part = bytes | memoryview


async def in_pieces(parts: Iterable[Part]) -> AsyncGenerator[Part]:
    """The bytes of all parts: short parts joined, long ones split without a copy.

    An empty part adds no bytes, but lets the event loop run.
    """
    slices = Slices()
    pending: list[Part] = []
    size = 0
    for part in parts:
        if len(part) > PIECE:
            if pending:
                yield b"".join(pending)
                pending, size = [], 0
            for start in range(0, len(part), PIECE):
                yield memoryview(part)[start : start + PIECE]
        elif part:
            pending.append(part)
            size += len(part)
            if size >= PIECE:
                yield b"".join(pending)
                pending, size = [], 0
        if slices.over:
            await slices.next()
    if pending:
        yield b"".join(pending)
