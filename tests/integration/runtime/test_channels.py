# SPDX-License-Identifier: Apache-2.0
"""Connections to shims come and go by the hundred, and share a small range of descriptor numbers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from tests import hostile

from springtide.local.runtime.channels import Channel, ShimError, ShimGoneError

PATIENCE = 30.0


class Sockets:
    """Connected pairs that are closed at the end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def pair(self) -> tuple[socket.socket, socket.socket]:
        ours, theirs = (self._stack.enter_context(end) for end in socket.socketpair())
        ours.setblocking(False)
        return ours, theirs

    def moved(self, ours: socket.socket, number: int) -> socket.socket:
        """The same under another number, which is free."""
        os.dup2(ours.fileno(), number)
        return self._stack.enter_context(socket.socket(fileno=number))


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    with ExitStack() as stack:
        yield Sockets(stack)


async def test_a_closed_channel_tells_whoever_waits_and_leaves_its_number_to_others(sockets: Sockets) -> None:
    (ours, _), (spare, theirs) = sockets.pair(), sockets.pair()
    number = ours.fileno()
    first = Channel(ours)
    waiting = asyncio.create_task(first.receive())
    await asyncio.sleep(0)
    first.close()
    hearing = asyncio.create_task(Channel(sockets.moved(spare, number)).receive())
    await asyncio.sleep(0)
    theirs.sendall(b'{"ok": true}\n')
    assert await asyncio.wait_for(hearing, PATIENCE) == ({"ok": True}, [])
    with pytest.raises(ShimGoneError):
        await asyncio.wait_for(waiting, PATIENCE)


async def test_a_channel_that_is_closed_with_news_on_it_leaves_its_number_to_others(sockets: Sockets) -> None:
    """As when a shim ends: two connections are ready in one turn of the loop, and the first to run closes both."""
    (one, far), (other, far_other), (spare, theirs) = (sockets.pair() for _ in range(3))
    ending, following = Channel(one), Channel(other)
    number = other.fileno()

    async def end() -> object:
        with pytest.raises(ShimGoneError):
            await ending.receive()
        following.close()
        hearing = asyncio.create_task(Channel(sockets.moved(spare, number)).receive())
        await asyncio.sleep(0.1)  # others have their turn
        theirs.sendall(b'{"ok": true}\n')
        return await hearing

    ender, follower = asyncio.create_task(end()), asyncio.create_task(following.receive())
    await asyncio.sleep(0)
    far.close()
    far_other.close()
    assert await asyncio.wait_for(ender, PATIENCE) == ({"ok": True}, [])
    with pytest.raises(ShimGoneError):
        await asyncio.wait_for(follower, PATIENCE)


async def test_no_answer_ends_an_agent(sockets: Sockets) -> None:
    """What cannot be read is an error of that shim's, and the connection is still good for the next line."""
    ours, theirs = sockets.pair()
    channel = Channel(ours)
    for line in hostile.LINES.values():
        sending = asyncio.create_task(asyncio.to_thread(theirs.sendall, line + b"\n"))
        with suppress(ShimError):
            answer, _ = await asyncio.wait_for(channel.receive(), PATIENCE)
            assert isinstance(answer, dict)
        await sending
    theirs.sendall(b'{"ok":true}\n')
    assert await channel.receive() == ({"ok": True}, [])
    channel.close()
