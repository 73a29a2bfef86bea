# SPDX-License-Identifier: Apache-2.0
"""Hosts from a discovery script, which is run every second, and at once when its file changes.

In a pod the script is a file of a ConfigMap, which is replaced as a whole; to stat it twenty times a second costs
nothing. A script that fails, hangs or prints nonsense changes nothing: the last hosts stay. When a host is missing the
script is run again at once, and the host is dropped when it is missing twice: the file that the script reads may be
half written. A new host is used at once. A script that hangs does not outlive a launcher that is killed: it begins
when the orphan guard knows its process group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncIterator
from typing import Final, TypeAlias

from springtide.elastic.launcher import hosts
from springtide.elastic.shared.orphan_guard import OrphanGuard

_LOOK: Final = 0.05
_ASK: Final = 1.0
_PATIENCE: Final = 10.0
_MOMENT: Final = 0.2
_MOST: Final = 1 << 20
_NO_SUCH_COMMAND: Final = (126, 127)

_Print: TypeAlias = tuple[int, int, int, int] | None


class DiscoveryError(Exception):
    """The script did not print hosts; says why."""

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing
        """There is no such script, or it cannot be executed."""


class Discovery:
    def __init__(self, script: str, slots_per_host: int | None, orphan_guard: OrphanGuard) -> None:
        self._script, self._slots, self._orphan_guard = script, slots_per_host, orphan_guard
        self._path = shlex.split(script)[0]
        self._seen: _Print = None

    async def changes(self) -> AsyncIterator[dict[str, int] | DiscoveryError]:
        """Hosts and errors, whenever they differ from the last ones; never ends."""
        known: dict[str, int] = {}
        error: str | None = None
        first = True
        while True:
            self._seen = _print(self._path)
            try:
                found = await self._hosts()
                if _missing(known, found):
                    await asyncio.sleep(_LOOK)
                    found = confirmed(known, found, await self._hosts())
            except DiscoveryError as trouble:
                if str(trouble) != error:
                    error = str(trouble)
                    yield trouble
            else:
                error = None
                if found != known or first:
                    first, known = False, found
                    yield found
            await self._changed()

    async def _changed(self) -> None:
        """Wait for a second, or until the file is another one."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _ASK
        while loop.time() < until:
            await asyncio.sleep(_LOOK)
            if _print(self._path) != self._seen:
                return

    async def _hosts(self) -> dict[str, int]:
        with contextlib.ExitStack() as opened:
            try:
                gate, go = os.pipe()
                opened.callback(os.close, gate)
                opened.callback(os.close, go)
                printed = opened.enter_context(contextlib.closing(PipeReader()))
                errors = opened.enter_context(contextlib.closing(PipeReader()))
                process = await asyncio.create_subprocess_shell(
                    f"read -r _ && exec </dev/null || exit\n{self._script}",
                    stdin=gate,
                    stdout=printed.write_end,
                    stderr=errors.write_end,
                    start_new_session=True,
                )
            except OSError as error:
                raise DiscoveryError(f"{self._script} cannot be asked now: {error.strerror}") from error
            self._orphan_guard.hold(process.pid)
            with contextlib.suppress(BrokenPipeError):  # the shell has been killed, as its exit code will say
                os.write(go, b"\n")
            await self._wait(process, printed, errors)
        if process.returncode:
            words = errors.data.decode(errors="replace").strip().splitlines()[-1:]
            why = ": ".join((f"{self._script} failed with code {process.returncode}", *words))
            raise DiscoveryError(why, missing=process.returncode in _NO_SUCH_COMMAND)
        try:
            return hosts.from_discovery(printed.data.decode(errors="replace"), self._slots)
        except hosts.HostsError as error:
            raise DiscoveryError(f"{self._script} printed an invalid line: {error}") from error

    async def _wait(self, process: asyncio.subprocess.Process, *readers: PipeReader) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
        except TimeoutError:
            full = any(reader.full for reader in readers)
            why = f"printed more than {_MOST >> 20} MiB" if full else f"took more than {_PATIENCE:g} s"
            raise DiscoveryError(f"{self._script} {why}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            self._orphan_guard.release()
        for reader in readers:
            await reader.end(_MOMENT)


class PipeReader:
    """Reads what a process prints: a limited amount, and until the process ends. A process that it leaves behind may
    hold the other end of the pipe for ever."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.full = False
        self._end = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._pipe, self.write_end = os.pipe()
        """The process gets the write end."""
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read)

    async def end(self, patience: float) -> None:
        """Read the rest once the process has ended."""
        self._shut()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._end.wait()

    def close(self) -> None:
        self._shut()
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)

    def _shut(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def _read(self) -> None:
        data = os.read(self._pipe, 1 << 16)
        self.data += data
        self.full = len(self.data) > _MOST
        if not data or self.full:
            self._loop.remove_reader(self._pipe)
            self._end.set()


def _missing(known: dict[str, int], found: dict[str, int]) -> bool:
    """Whether a host is missing, or has fewer slots."""
    return any(found.get(host, 0) < slots for host, slots in known.items())


def confirmed(known: dict[str, int], found: dict[str, int], again: dict[str, int]) -> dict[str, int]:
    """The second answer, with what only the first one left out."""
    merged = dict(again)
    for host, slots in known.items():
        if again.get(host, 0) < slots:
            merged[host] = min(slots, max(found.get(host, 0), again.get(host, 0)))
    return {host: slots for host, slots in merged.items() if slots > 0 or host in again}


def _print(path: str) -> _Print:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
