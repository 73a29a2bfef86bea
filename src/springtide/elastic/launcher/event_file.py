# SPDX-License-Identifier: Apache-2.0
"""Saves the events of a run that failed, for a report."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import Iterable
from pathlib import Path


async def save(path: Path, lines: Iterable[str], patience: float) -> str:
    """Returns a message about the outcome. A thread writes, and the launcher does not wait for it at exit: an
    unresponsive file system must not delay the exit code."""
    data = "".join(f"{line}\n" for line in lines).encode()
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    failures: list[OSError] = []

    def write() -> None:
        try:
            _write(path, data)
        except OSError as error:
            failures.append(error)
        with contextlib.suppress(RuntimeError):  # the event loop may be closed already
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
    """Readable by this user only, since it names hosts and addresses. Opening a FIFO would block, and a device must not
    be written: files are opened without blocking (and for reading too, as a FIFO rejects writers alone), and rejected
    unless regular."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no regular file")
        file.truncate()
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
