# SPDX-License-Identifier: Apache-2.0
"""What the control sockets of shims and of netd share: lines, file descriptors, and paths of any length.

Standard library only, and little of that: there is a shim for each pod.
"""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
else:
    import _socket as socket


class Lines:
    """Bytes in, whole lines out. Inspects every byte once, however small the chunks are."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now. ValueError when a line exceeds the limit."""
        seen = len(self._bytes)
        self._bytes += data
        found, start = list[bytes](), 0
        while (end := self._bytes.find(b"\n", max(seen, start))) >= 0:
            found.append(bytes(self._bytes[start:end]))
            start = end + 1
        del self._bytes[:start]
        if len(self._bytes) > self._longest or any(len(line) > self._longest for line in found):
            raise ValueError(f"a message of more than {self._longest} bytes")
        return found


def pack_fds(fds: Sequence[int]) -> list[tuple[int, int, bytes]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []


def unpack_fds(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    found: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    for fd in found:
        os.set_inheritable(fd, False)
    return found


def at_directory(path: str, act: Callable[[str], None]) -> None:
    """Bind or connect a socket by a short alias of its path, which may be longer than an address can hold."""
    if len(os.fsencode(path)) < 100 or not os.path.isdir("/proc/self/fd"):
        act(path)
        return
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
    directory = os.open(os.path.dirname(path), flags)
    try:
        act(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)
