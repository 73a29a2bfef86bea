# SPDX-License-Identifier: Apache-2.0
"""Exec and attach: connecting a client's streams to a process of a pod's shim.

The shim gets pipes or a terminal and owns the process; the agent only copies. So a client that disconnects, or a stream
that breaks, does not affect the process: it reads the end of its input, and further output is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Annotated, Final

import msgspec

from springtide.local.bounded_json import check_depth
from springtide.local.kubelet.serving import ends
from springtide.local.kubelet.serving.descriptors import Descriptor
from springtide.local.kubelet.serving.ends import Ends
from springtide.local.kubelet.serving.hosting import PodShim, Running
from springtide.local.runtime.shim_client import ShimError
from springtide.local.streams import channels
from springtide.local.streams.channels import Command, Status, Wanted
from springtide.local.streams.duplex import Input, Output

# Everything that a process has written before it exits is read. Output that a daemon left behind by it writes to the
# same pipe is read until it pauses for this many seconds.
QUIET: Final = 0.2

_NOT_STARTED: Final = (
    'error executing command in container: failed to exec in container: failed to start exec "{}": '
    "OCI runtime exec failed: exec failed: unable to start container process: {}: unknown"
)

Resize = Callable[[int, int], Awaitable[None]]


async def execute(shim: PodShim, container: str, argv: Sequence[str], wanted: Wanted, command: Command) -> Status:
    """Run a program in a container until it exits. Cancelling leaves the program running."""
    ours = ends.terminal() if wanted.tty else ends.pipes(wanted, lasting=True)
    given = ours.theirs[:1] if wanted.tty else ours.theirs
    try:
        with _or_nothing(given) as fds:
            process = await shim.exec(container, argv, fds, tty=wanted.tty)
    except ShimError as problem:
        ours.close()
        return channels.failed(_NOT_STARTED.format(secrets.token_hex(32), problem))
    except asyncio.CancelledError:
        ours.close()
        raise
    if process.terminal is None:
        ours.hand_over()
    else:
        ours.close()
        ours = ends.master(process.terminal)

    async def resize(width: int, height: int) -> None:
        if wanted.tty and ours.stdout is not None:
            ends.set_size(ours.stdout, width, height)

    try:
        return channels.exited(await _carry(ours, command, resize, process) or 0)
    except ShimError as problem:
        return channels.failed(f"error executing command in container: {problem}")
    finally:
        ours.leave()


async def attach(shim: PodShim, container: str, wanted: Wanted, command: Command) -> Status:
    """Connect to a container's own streams until it ends or the client disconnects."""
    ours = ends.pipes(wanted)
    stdin, stdout, stderr = ours.theirs
    try:
        attached = await shim.attach(container, stdin=stdin, stdout=stdout, stderr=stderr)
    except ShimError as problem:
        ours.close()
        return channels.failed(f"error attaching to container: {problem}")
    except asyncio.CancelledError:
        ours.close()
        raise
    ours.hand_over()

    async def resize(width: int, height: int) -> None:
        with contextlib.suppress(ShimError):
            await shim.resize(container, width, height)

    try:
        await _carry(ours, command, resize, attached)
        return channels.exited(0)
    finally:
        ours.close()


class _Pump:
    """Copies one output; `waiting` is true while it waits for the process, not for the client."""

    def __init__(self, source: Descriptor, target: Output | None) -> None:
        self._source, self._target = source, target
        self.copied = 0
        self.waiting = False

    async def run(self) -> None:
        while True:
            self.waiting = True
            data = await self._source.read()
            if not data:
                return
            self.waiting = False
            self.copied += len(data)
            if self._target is not None:
                await self._target.write(data)


async def _carry(ours: Ends, command: Command, resize: Resize, process: Running) -> int | None:
    """Copy in all directions until the process has exited."""
    outputs = ((ours.stdout, command.stdout), (ours.stderr, command.stderr))
    pumps = [_Pump(source, target) for source, target in outputs if source is not None]
    copying = [asyncio.ensure_future(pump.run()) for pump in pumps]
    inputs = [asyncio.ensure_future(job) for job in (_feed(command.stdin, ours), _sizes(command.resize, resize))]
    exiting = asyncio.ensure_future(process.wait())
    try:
        await _until(exiting, copying)
        await _rest(pumps, copying)
        return exiting.result()
    finally:
        tasks = (*inputs, *copying, exiting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        process.close()


async def _until(exiting: asyncio.Future[int | None], copying: Sequence[asyncio.Future[None]]) -> None:
    """Wait until the process has exited; raises at once when the client accepts no more output."""
    pending: set[asyncio.Future[int | None] | asyncio.Future[None]] = {exiting, *copying}
    while not exiting.done():
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


async def _rest(pumps: Sequence[_Pump], copying: Sequence[asyncio.Future[None]]) -> None:
    pending = {task for task in copying if not task.done()}
    while pending:
        before = [pump.copied for pump in pumps]
        _, pending = await asyncio.wait(pending, timeout=QUIET)
        if before == [pump.copied for pump in pumps] and all(pump.waiting for pump in pumps):
            return


async def _feed(source: Input | None, ours: Ends) -> None:
    target = ours.stdin
    if source is None or target is None:
        return
    with contextlib.suppress(OSError):  # the process has closed its input
        while data := await source.read():
            await target.write(data)
    if target is not ours.stdout:
        target.close()


_Cells = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]


class _Size(msgspec.Struct, rename="pascal"):
    width: _Cells
    height: _Cells


async def _sizes(source: Input | None, resize: Resize) -> None:
    while source is not None and (data := await source.read()):
        for line in data.splitlines():
            with contextlib.suppress(ValueError, OSError):  # invalid sizes are ignored
                check_depth(line.decode())  # the decoder recurses into unknown fields
                size = msgspec.json.decode(line, type=_Size)
                await resize(size.width, size.height)


@contextlib.contextmanager
def _or_nothing(numbers: Sequence[int | None]) -> Iterator[list[int]]:
    """Replace the streams that were not requested by /dev/null."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        yield [nowhere if number is None else number for number in numbers]
    finally:
        os.close(nowhere)
