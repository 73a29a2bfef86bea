# SPDX-License-Identifier: Apache-2.0
"""Keeping the logs of a pod that is removed, within a bounded space.

Of each container the newest attempt and the one before are kept, of a pod the last 4 MiB. When all kept logs together
exceed `TOTAL` or `MOST`, the oldest are removed, first those of the namespace that has most of them: a namespace
full of huge logs must not push out the logs of the others.

A process may be killed at any moment: each step may be repeated, and the logs appear among the kept ones by one rename.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from springtide.local.pod_logs import kept
from springtide.local.pod_logs.kept import Entry
from springtide.local.pod_logs.reading import files_of

logger = logging.getLogger(__name__)

TOTAL: Final = 256 << 20
"""Bytes of all kept logs."""
MOST: Final = 2000
"""Pods whose logs are kept."""
OF_A_POD: Final = 4 << 20
"""Bytes that are kept of a pod's logs, shared equally by its containers."""
_ATTEMPTS: Final = 2
_BLOCK: Final = 4096
"""Bytes that a file takes at least."""
_COPIED: Final = 256 << 10


def keep(data_dir: Path, logs: Path) -> None:
    """Move a removed pod's logs to the kept ones, or remove them if its logs are not to be kept. Nobody writes to them
    any more. Never raises OSError: a pod's removal must not depend on it."""
    pod = kept.read_card(logs)
    try:
        if pod is not None and _trim(logs):
            top = data_dir / kept.KEPT
            with _locked(top):
                name = kept.directory_name(pod, time.time_ns(), _size(logs))
                logs.rename(top / name)
                _make_room(top)
            return
    except OSError as error:
        logger.warning("the logs of removed pod %s are not kept: %s", logs.name, error)
    shutil.rmtree(logs, ignore_errors=True)


def remove_of_namespace(data_dir: Path, namespace: str) -> None:
    """Remove all kept logs of a deleted namespace."""
    top = data_dir / kept.KEPT
    found = [entry for entry in kept.entries(top) if entry.namespace == namespace]
    if found:
        with _locked(top):
            _remove(top, found)


def doomed(entries: Sequence[Entry], total: int = TOTAL, most: int = MOST) -> list[Entry]:
    """Which of the kept logs, oldest first, to remove, so that the others are within the bounds."""
    used, count = sum(entry.kib for entry in entries), len(entries)
    if used <= total >> 10 and count <= most:
        return []
    of_namespace: dict[str, list[Entry]] = defaultdict(list)
    for entry in reversed(entries):
        of_namespace[entry.namespace].append(entry)
    shares = {name: sum(entry.kib for entry in found) for name, found in of_namespace.items()}
    gone = []
    while used > total >> 10 or count > most:
        by_size = used > total >> 10
        largest = max(of_namespace, key=lambda name: (shares[name] if by_size else len(of_namespace[name]), name))
        entry = of_namespace[largest].pop()
        gone.append(entry)
        shares[largest] -= entry.kib
        used, count = used - entry.kib, count - 1
        if not of_namespace[largest]:
            del of_namespace[largest]
    return gone


@contextmanager
def _locked(top: Path) -> Iterator[None]:
    """The agents of all nodes of a machine share the directory."""
    top.mkdir(mode=0o700, exist_ok=True)
    with (top / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_room(top: Path) -> None:
    _remove(top, doomed(kept.entries(top)))


def _remove(top: Path, entries: Sequence[Entry]) -> None:
    """A directory is renamed first, so that no reader finds half of it."""
    for entry in entries:
        entry.path.rename(top / f"{kept.REMOVING}{entry.uid}")
    for name in os.listdir(top):
        if name.startswith(kept.REMOVING):  # also of a process that was killed here
            shutil.rmtree(top / name, ignore_errors=True)


def _trim(logs: Path) -> bool:
    """Reduce the logs to what is kept; returns whether there is anything."""
    found = kept.attempts(logs)
    for container, numbers in found.items():
        for number in numbers[:-_ATTEMPTS]:
            for path in files_of(logs / container, number):
                path.unlink()
        room = OF_A_POD // len(found)
        for number in reversed(numbers[-_ATTEMPTS:]):
            room = _trim_attempt(files_of(logs / container, number), room)
    return bool(found)


def _trim_attempt(files: Sequence[Path], room: int) -> int:
    """Keep the last `room` bytes of an attempt's files; returns the room that is left."""
    for path in reversed(files):
        size = path.lstat().st_size
        if size > room:
            _cut(path, room)
        room = max(room - size, 0)
    return room


def _cut(path: Path, room: int) -> None:
    """Reduce a file to its last records. The newest file of an attempt stays, if empty: it shows that there was one."""
    if not room and not path.name.endswith(".log"):
        path.unlink()
        return
    draft = path.with_name(f".{path.name}.cut")
    with path.open("rb") as source, draft.open("wb") as target:
        if room:
            source.seek(-room, os.SEEK_END)
            source.readline(room)  # the rest of a record
        while room and (data := source.read(_COPIED)):
            target.write(data)
    draft.replace(path)


def _size(logs: Path) -> int:
    """The bytes that a directory takes on disk, roughly."""
    total = _BLOCK
    for path in logs.rglob("*"):
        total += _BLOCK + path.lstat().st_size // _BLOCK * _BLOCK
    return total
