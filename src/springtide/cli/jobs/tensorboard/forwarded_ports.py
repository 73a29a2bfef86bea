# SPDX-License-Identifier: Apache-2.0
"""Which ports of this machine this user's processes forward to which TensorBoards.

There is a file per TensorBoard, named after the uid of its Deployment. The process that forwards holds a lock on it as
long as it runs, however it ends: a file without a lock means nothing, and is removed when its turn comes.

    with forwarded_ports.held(uid) as holder:     None if another process forwards already
        holder.write(port)
    forwarded_ports.port(uid)                     of whichever process forwards; None if none does
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from springtide.cli import places

_ATTEMPTS: Final = 20
_PAUSE: Final = 0.05


class Holder:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, port: int) -> None:
        self._file.write(b"%d\n" % port)
        self._file.flush()


@contextmanager
def held(uid: str) -> Iterator[Holder | None]:
    """OSError if the directory cannot be written to."""
    places.forwarded_ports().mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_left_over()
    path = places.forwarded_ports() / uid
    file = _locked(path)
    if file is None:
        yield None
        return
    with file:
        file.truncate(0)
        try:
            yield Holder(file)
        finally:
            path.unlink(missing_ok=True)


def port(uid: str) -> int | None:
    path = places.forwarded_ports() / uid
    try:
        with path.open("rb") as file:
            if _lock(file, fcntl.LOCK_SH):
                return None
            said = file.read()
    except OSError:
        return None
    return int(said) if said.endswith(b"\n") else None


def any_are_held() -> bool:
    """Whether it is worth to ask for a TensorBoard's uid."""
    try:
        return any(places.forwarded_ports().iterdir())
    except OSError:
        return False


def _locked(path: Path) -> IO[bytes] | None:
    """None if another process forwards. A process that ends removes its file, perhaps after it was opened here; one
    that only looks has a lock for a moment."""
    for _ in range(_ATTEMPTS):
        file = path.open("ab")
        if _lock(file, fcntl.LOCK_EX) and _is_at(file, path):
            return file
        file.close()
        if port(path.name) is not None:
            return None
        time.sleep(_PAUSE)
    return None


def _remove_left_over() -> None:
    for path in places.forwarded_ports().iterdir():
        with suppress(OSError), path.open("rb") as file:
            if _lock(file, fcntl.LOCK_EX) and _is_at(file, path):
                path.unlink()


def _lock(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
