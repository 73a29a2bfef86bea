# SPDX-License-Identifier: Apache-2.0
"""Sizes of a terminal, as a client of exec or attach sends them."""

from __future__ import annotations

from tests import hostile

from springtide.local.kubelet.serving import commands


class Sent:
    """What a client has sent, read piece by piece."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    async def read(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


async def test_a_size_that_is_none_changes_nothing() -> None:
    seen: list[tuple[int, int]] = []

    async def resize(width: int, height: int) -> None:
        seen.append((width, height))

    wrong = [
        line + b"\n" for line in (*hostile.LINES.values(), *hostile.malformed({"Width": 80, "Height": 24})) if line
    ]
    deep = b'{"Width":80,"Height":24,"More":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    await commands._sizes(Sent(*wrong, deep, b'{"Width":81,"Height":25}'), resize)
    assert seen == [(81, 25)]
