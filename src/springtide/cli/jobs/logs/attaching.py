# SPDX-License-Identifier: Apache-2.0
"""A command in a pod of a job, with this terminal if there is one.

code = await attach(client, pod, container, ["sh"])
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from springtide.kube import interactive
from springtide.kube.client import Client
from springtide.kube.interactive import Size
from springtide.kube.resources import Key, Obj

SHELL: Final = ("sh",)
"""What is run when the user names no command."""
_PIECE: Final = 32 << 10


async def attach(client: Client, pod: Obj, container: str, command: Sequence[str]) -> int:
    """The exit code of the command. It gets a terminal if stdin is one."""
    words, has_terminal = list(command or SHELL), os.isatty(sys.stdin.fileno())
    console = Standard(sys.stdin.fileno())
    with raw(sys.stdin.fileno()) if has_terminal else contextlib.nullcontext():
        return await interactive.interact(client, Key.of(pod), container, words, console, tty=has_terminal)


@contextlib.contextmanager
def raw(terminal: int) -> Iterator[None]:
    """Every key goes to the command, Ctrl-C too."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class Standard:
    """stdin, stdout and stderr of this process."""

    def __init__(self, stdin: int) -> None:
        self._stdin = stdin

    async def read(self) -> bytes:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        try:
            loop.add_reader(self._stdin, readable.set)
        except PermissionError:  # a file, or /dev/null, which can always be read
            return os.read(self._stdin, _PIECE)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._stdin)
        try:
            return os.read(self._stdin, _PIECE)
        except OSError:  # the terminal is gone
            return b""

    async def write(self, data: bytes, *, error: bool) -> None:
        stream = sys.stderr.buffer if error else sys.stdout.buffer
        stream.write(data)
        stream.flush()

    async def sizes(self) -> AsyncIterator[Size]:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGWINCH, changed.set)
        try:
            while True:
                changed.clear()
                width, height = os.get_terminal_size(self._stdin)
                yield Size(width, height)
                await changed.wait()
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
