# SPDX-License-Identifier: Apache-2.0
"""A command in a container with this terminal, as `kubectl exec -it`: keys go to it at once, and its size changes with
the window's. Without a terminal, stdin is what is piped.

One WebSocket with numbered channels, as in `springtide.kube.exec`, which runs commands without stdin.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.exec import PROTOCOLS, STATUS, STDERR, exit_code
from springtide.kube.request import Request, path_of
from springtide.kube.resources import PODS, Key
from springtide.kube.transport import Sends, WebSocket

_STDIN, _RESIZE, _CLOSE = b"\x00", b"\x04", b"\xff\x00"
_CHUNK: Final = 1 << 16


async def run(client: Client, pod: Key, container: str, argv: Sequence[str]) -> int:
    """The exit code. ApiError if the command was not run, or if its end is unknown."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    query = {"container": container, "stdin": "true", "stdout": "true", "tty": str(terminal).lower()}
    query |= {} if terminal else {"stderr": "true"}
    words = tuple(("command", word) for word in argv)
    request = Request("GET", path_of(PODS, pod.namespace, pod.name, "exec"), query, repeated=words)
    async with client.websocket(request, PROTOCOLS) as socket:
        with _raw() if terminal else _as_it_is():
            return await _connected(socket, terminal=terminal)


async def _connected(socket: WebSocket, *, terminal: bool) -> int:
    assert isinstance(socket, Sends)
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def send(message: bytes) -> None:
        task = loop.create_task(socket.send(message))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def typed() -> None:
        keys = os.read(sys.stdin.fileno(), _CHUNK)
        if keys:
            send(_STDIN + keys)
            return
        loop.remove_reader(sys.stdin.fileno())
        if socket.protocol == PROTOCOLS[0]:
            send(_CLOSE)

    def resized() -> None:
        size = shutil.get_terminal_size()
        send(_RESIZE + json.dumps({"Width": size.columns, "Height": size.lines}).encode())

    if terminal:
        resized()
        loop.add_signal_handler(signal.SIGWINCH, resized)
    try:
        loop.add_reader(sys.stdin.fileno(), typed)
    except PermissionError:  # a file, which never has to be waited for
        await _send_file(socket)
    try:
        return await _output(socket)
    finally:
        loop.remove_reader(sys.stdin.fileno())
        for task in tasks:
            task.cancel()


async def _send_file(socket: Sends) -> None:
    while content := os.read(sys.stdin.fileno(), _CHUNK):
        await socket.send(_STDIN + content)
    await socket.send(_CLOSE)


async def _output(socket: WebSocket) -> int:
    status = b""
    while (message := await socket.receive()) is not None:
        channel, data = message[:1], message[1:]
        if channel == bytes((STATUS,)):
            status += data
            continue
        stream = sys.stderr if channel == bytes((STDERR,)) else sys.stdout
        stream.buffer.write(data)
        stream.buffer.flush()
    if not status:
        raise errors.Unreachable("the connection was closed before the exit status of the command arrived")
    return exit_code(msgspec.json.decode(status))


@contextmanager
def _raw() -> Iterator[None]:
    """Keys such as Ctrl-C are the command's."""
    before = termios.tcgetattr(sys.stdin.fileno())
    tty.setraw(sys.stdin.fileno())
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
