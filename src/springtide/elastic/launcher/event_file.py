# SPDX-License-Identifier: Apache-2.0
"""Where a run that fails leaves its events, for a report."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import Iterable
from pathlib import Path


async def save(path: Path, lines: Iterable[str], patience: float) -> str:
    """What became of it, in words. A thread writes: a file system that hangs must not take the exit code with it, and
    nobody waits for this thread at the end."""
    data = "".join(f"{line}\n" for line in lines).encode()
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    failures: list[OSError] = []

    def write() -> None:
        try:
            _write(path, data)
        except OSError as error:
            failures.append(error)
        with contextlib.suppress(RuntimeError):  # the run may be over before all is written
            loop.call_soon_threadsafe(over.set)

    try:
        threading.Thread(target=write, name="tiderun-events", daemon=True).start()
        async with asyncio.timeout(patience):
            await over.wait()
    except RuntimeError as error:  # the system has no threads left, which may be why the run failed
        return f"the events of this run cannot be saved: {path}: {error}"
    except TimeoutError:
        return f"the events of this run cannot be saved: {path}: its file system has not answered for {patience:g} s"
    if failures:
        return f"the events of this run cannot be saved: {path}: {failures[0].strerror}"
    return f"the events of this run, for a report, are in {path}"


def _write(path: Path, data: bytes) -> None:
    """For this user alone, since it names hosts and addresses. A FIFO would wait for a reader, and a device is nobody's
    file: they are opened without waiting, for reading too because a FIFO refuses writers alone, and then refused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no regular file")
        file.truncate()
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
