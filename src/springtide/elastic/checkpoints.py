# SPDX-License-Identifier: Apache-2.0
"""Commits on disk, for a run that nobody survives: suspended, its launcher restarted, or all its workers lost.

A file is written beside the others and then given its name, so that what has a name is whole. The last two are kept.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from springtide.elastic import leaves

_LENGTH: Final = struct.Struct("!Q")
_MAGIC: Final = b"tidestate1"
KEPT: Final = 2

Arrays = Callable[[Sequence[leaves.Leaf]], list[Any]]


class Checkpoints:
    def __init__(self, directory: Path, every: int) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, not {every}")
        self._directory, self._every = directory, every
        self._count = 0

    def keep(self, boundary: int, head: bytes, arrays: Sequence[Any]) -> None:
        """Only every so many times."""
        self._count += 1
        if self._count % self._every:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        target = self._directory / f"commit-{boundary:012d}"
        draft = self._directory / f".{target.name}.{os.getpid()}"
        with draft.open("wb") as file:
            file.write(_MAGIC + _LENGTH.pack(len(head)) + head)
            for array in arrays:
                file.write(leaves.view(leaves.in_main_memory(array)))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(target)
        self._tidy()

    def newest(self) -> tuple[bytes, Arrays] | None:
        """The words of the newest that can be read, and how to get at its arrays."""
        for path in sorted(self._files(), reverse=True):
            with path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    continue
                head = file.read(_LENGTH.unpack(file.read(_LENGTH.size))[0])
                return head, _reader(path, file.tell())
        return None

    def _files(self) -> list[Path]:
        return list(self._directory.glob("commit-*"))

    def _tidy(self) -> None:
        """Drafts are of writers that died: there is one at a time."""
        for path in (*sorted(self._files())[:-KEPT], *self._directory.glob(".commit-*")):
            path.unlink(missing_ok=True)


def _reader(path: Path, start: int) -> Arrays:
    def read(wanted: Sequence[leaves.Leaf]) -> list[Any]:
        arrays = [leaves.made(leaf) for leaf in wanted]
        with path.open("rb") as file:
            file.seek(start)
            for array in arrays:
                space = leaves.view(array)
                if len(space) and file.readinto(space) != len(space):
                    raise OSError(f"{path} ends too early: delete it, and the one before it is used")
        return arrays

    return read
