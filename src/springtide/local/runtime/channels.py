# SPDX-License-Identifier: Apache-2.0
"""One connection to a shim: lines and descriptors, without blocking the agent's loop; and the errors of such
connections."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from springtide.local import control_sockets
from springtide.local.bounded_json import check_depth

LONGEST: Final = 64 << 20
"""Bytes of one answer: the states of a pod's containers, each with a message of some kilobytes."""
UNREADABLE: Final = "Unreadable"


class ShimError(Exception):
    """A request that a shim refused or could not serve: `reason` for programs, the message for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ShimGoneError(ShimError):
    """The shim no longer runs; its containers died with it."""

    def __init__(self, message: str = "the pod's shim is gone") -> None:
        super().__init__("ShimGone", message)


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        check_depth(line.decode())
        return msgspec.json.decode(line, type=dict[str, Any])
    except ValueError as error:  # msgspec's errors are ValueErrors, too
        raise ShimError(UNREADABLE, f"the pod's shim sent an invalid answer: {error}") from None


class Channel:
    """One connection: lines and descriptors, without blocking the loop."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._incoming = control_sockets.Lines(LONGEST)
        self._lines: deque[bytes] = deque()
        self._fds: list[int] = []
        self._watches: set[_Watch] = set()

    async def ask(self, request: dict[str, Any], fds: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        await self._send(msgspec.json.encode(request) + b"\n", fds)
        answer, received = await self.receive()
        if "error" in answer:
            raise ShimError(str(answer.get("reason", "Error")), str(answer["error"]))
        return answer, received

    async def receive(self) -> tuple[dict[str, Any], list[int]]:
        while not self._lines:
            await self.ready()
            try:
                data, ancillary, _, _ = self._connection.recvmsg(65536, socket.CMSG_SPACE(64))
            except BlockingIOError:
                continue
            except OSError:
                data, ancillary = b"", []
            self._fds += control_sockets.unpack_fds(ancillary)
            if not data:
                raise ShimGoneError
            try:
                self._lines += self._incoming.feed(data)
            except ValueError as error:
                raise ShimError(UNREADABLE, f"the pod's shim sent {error}") from None
        fds, self._fds = self._fds, []
        return _decoded(self._lines.popleft()), fds

    async def _send(self, data: bytes, fds: Sequence[int]) -> None:
        try:
            while data:
                try:
                    data = data[self._connection.sendmsg([data], control_sockets.pack_fds(fds)) :]
                    fds = ()
                except BlockingIOError:
                    await self.ready(writing=True)
        except OSError:
            raise ShimGoneError from None

    async def ready(self, writing: bool = False) -> None:
        if self._connection.fileno() < 0:
            raise ShimGoneError("the connection to the pod's shim was closed")
        watch = _Watch(self._connection.fileno(), writing)
        self._watches.add(watch)
        try:
            await watch.done
        finally:
            self._watches.discard(watch)
            watch.end()

    def close(self) -> None:
        """Every pending wait ends; the next read raises `ShimGoneError`."""
        for watch in self._watches:
            watch.end()
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        self._connection.close()


class _Watch:
    """A wait until a descriptor can be read or written. It must end before the descriptor is closed: the number is soon
    reused, and the event loop, which knows only numbers, would not watch the new descriptor."""

    def __init__(self, fd: int, writing: bool) -> None:
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = loop.create_future()
        add, remove = (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
        self._remove: Callable[[int], bool] | None = remove
        self._fd = fd
        add(fd, self._settle)

    def end(self) -> None:
        if self._remove is not None:
            self._remove(self._fd)
            self._remove = None
            self._settle()

    def _settle(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def ready(fd: int) -> None:
    """Wait until a descriptor of this process can be read."""
    watch = _Watch(fd, writing=False)
    try:
        await watch.done
    finally:
        watch.end()
