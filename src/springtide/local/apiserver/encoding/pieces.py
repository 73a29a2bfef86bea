# SPDX-License-Identifier: Apache-2.0
"""Long answers in pieces.

A client that reads slowly holds one piece in the server's memory, not the whole answer, and other requests have their
turn while the next piece is made.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from springtide.event_loop.turns import Turns

PIECE: Final = 32 * 1024
"""Bytes that are written at once. A connection holds them several times: as they are, and encrypted."""

Part = bytes | memoryview


async def in_pieces(parts: Iterable[Part]) -> AsyncGenerator[Part]:
    """The bytes of all parts: short parts joined, long ones cut without a copy.

    An empty part adds nothing, but the event loop may turn there.
    """
    turns = Turns()
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
        if turns.over:
            await turns.next()
    if pending:
        yield b"".join(pending)
