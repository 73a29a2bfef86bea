# SPDX-License-Identifier: Apache-2.0
"""Commits on disk, for a run that no rank survives: suspended, its launcher restarted, or all its workers lost.

A file is written under a temporary name and then renamed, so that no file is partial. The last two are kept. Each ends
with a checksum; if that is wrong, because a disk or file system has damaged the file, the one before is used.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import struct
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from springtide.elastic import leaves

logger = logging.getLogger(__name__)

_LENGTH: Final = struct.Struct("!Q")
_CHECKSUM: Final = struct.Struct("!I")
_MAGIC: Final = b"tidestate2"
_START: Final = len(_MAGIC) + _LENGTH.size
_CHUNK: Final = 1 << 20
KEPT: Final = 2
_ABANDONED: Final = 600.0
"""Seconds after which a temporary file counts as abandoned."""

Arrays = Callable[[Sequence[leaves.Leaf]], list[Any]]


class Checkpoints:
    def __init__(self, directory: Path, every: int) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, not {every}")
        self.directory, self._every = directory, every
        self._count = 0

    def probe(self) -> None:
        """OSError if no checkpoint can be written: an error at the start is better than one after hours."""
        self.directory.mkdir(parents=True, exist_ok=True)
        probe = self._draft("probe")
        probe.touch()
        probe.unlink(missing_ok=True)  # a process on another host may have the same pid

    def keep(self, boundary: int, head: bytes, arrays: Sequence[Any], *, at_once: bool = False) -> bool:
        """Writes every `every`-th commit, or this one if `at_once`; returns whether it was written. Errors do not end
        training: disks are emptied again."""
        self._count += 1
        if self._count % self._every and not at_once:
            return False
        target = self.directory / f"commit-{boundary:012d}"
        draft = self._draft(f"{boundary:012d}")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            _write(draft, head, arrays)
            draft.rename(target)
            self._tidy()
        except OSError as error:
            logger.warning("%s cannot be written, and training continues without it: %s", target, error)
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            return False
        return True

    def newest(self) -> tuple[bytes, Arrays] | None:
        """The head of the newest intact checkpoint, and a function that reads its arrays. A damaged one is renamed: it
        would count as the newest until others have as high a number."""
        for path in sorted(self._files(), reverse=True):
            if _whole(path):
                logger.warning("training continues from %s", path)
                with path.open("rb") as file:
                    file.seek(len(_MAGIC))
                    head = file.read(_LENGTH.unpack(file.read(_LENGTH.size))[0])
                return head, _reader(path, _START + len(head))
            damaged = path.rename(path.with_name(f"damaged-{path.name}"))
            logger.warning("%s is damaged, now called %s: looking for the one before it", path, damaged.name)
        return None

    def _draft(self, name: str) -> Path:
        return self.directory / f".commit-{name}.{os.getpid()}"

    def _files(self) -> list[Path]:
        return list(self.directory.glob("commit-*"))

    def _tidy(self) -> None:
        """Removes old checkpoints, and temporary files of writers that died. Young ones may be of a run that is about
        to end."""
        old = time.time() - _ABANDONED
        drafts = [path for path in self.directory.glob(".commit-*") if _written(path) < old]
        for path in (*sorted(self._files())[:-KEPT], *drafts):
            path.unlink(missing_ok=True)


def _write(path: Path, head: bytes, arrays: Sequence[Any]) -> None:
    with path.open("wb") as file:
        words = _MAGIC + _LENGTH.pack(len(head)) + head
        file.write(words)
        checksum = zlib.crc32(words)
        for array in arrays:
            view = leaves.view(leaves.in_main_memory(array))
            file.write(view)
            checksum = zlib.crc32(view, checksum)
        file.write(_CHECKSUM.pack(checksum))
        file.flush()
        os.fsync(file.fileno())


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf  # renamed meanwhile


def _whole(path: Path) -> bool:
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size - _CHECKSUM.size
        if left < _START or file.read(len(_MAGIC)) != _MAGIC:
            return False
        checksum, left = zlib.crc32(_MAGIC), left - len(_MAGIC)
        while left and (part := file.read(min(_CHUNK, left))):
            checksum, left = zlib.crc32(part, checksum), left - len(part)
        return file.read() == _CHECKSUM.pack(checksum)


def _reader(path: Path, start: int) -> Arrays:
    def read(wanted: Sequence[leaves.Leaf]) -> list[Any]:
        arrays = [leaves.made(leaf) for leaf in wanted]
        with path.open("rb") as file:
            file.seek(start)
            for array in arrays:
                space = leaves.view(array)
                if len(space) and file.readinto(space) != len(space):
                    raise OSError(f"{path} has changed while it was read")
        return arrays

    return read
