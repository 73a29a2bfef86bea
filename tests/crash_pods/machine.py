# SPDX-License-Identifier: Apache-2.0
"""What this machine has of a cluster: processes, mounts and links, found without asking the cluster."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36


class Process(NamedTuple):
    """A process by a name that is never used twice."""

    pid: int
    start: int


class Stat(NamedTuple):
    state: str
    parent: int
    start: int


def stat(pid: int) -> Stat | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return Stat(fields[0].decode(), int(fields[1]), int(fields[19]))


def process(pid: int) -> Process | None:
    found = stat(pid)
    return Process(pid, found.start) if found is not None and found.state not in "ZX" else None


def is_alive(known: Process) -> bool:
    return process(known.pid) == known


def all_processes() -> dict[int, Stat]:
    pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    return {pid: found for pid in pids if (found := stat(pid)) is not None}


def descendants(roots: Iterable[int]) -> list[Process]:
    """With the roots themselves; only those that live."""
    everybody = all_processes()
    children: dict[int, list[int]] = {}
    for pid, found in everybody.items():
        children.setdefault(found.parent, []).append(pid)
    waiting, seen = [pid for pid in roots if pid in everybody], set[int]()
    while waiting:
        pid = waiting.pop()
        if pid not in seen:
            seen.add(pid)
            waiting += children.get(pid, ())
    return [Process(pid, everybody[pid].start) for pid in sorted(seen) if everybody[pid].state not in "ZX"]


def words(pid: int) -> list[str]:
    try:
        return os.fsdecode((_PROC / str(pid) / "cmdline").read_bytes()).split("\0")[:-1]
    except OSError:
        return []


def naming(path: Path) -> Iterator[int]:
    """Processes that live and have a path in their command line."""
    text = str(path)
    for pid, found in all_processes().items():
        if found.state not in "ZX" and pid != os.getpid() and any(text in word for word in words(pid)):
            yield pid


def describe(pid: int) -> str:
    return f"process {pid}: {' '.join(' '.join(words(pid)).split())[:250]}"


# Orphans


def adopt_orphans() -> None:
    """From now on, whoever descends from this process and loses its parent becomes its child: none can hide."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    own = os.getpid()
    return [pid for pid, found in all_processes().items() if found.parent == own]


def reap(spared: Iterable[int]) -> None:
    """Bury orphans that have died, as the first process of a machine does."""
    kept = set(spared)
    for pid in children():
        found = stat(pid)
        if pid not in kept and found is not None and found.state == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


# Mounts and links


def mounts_under(path: Path, pid: int | str = "self") -> list[str]:
    """Mounts at or from a directory, in the mount namespace of a process."""
    try:
        lines = (_PROC / str(pid) / "mountinfo").read_text().splitlines()
    except OSError:
        return []
    return [line for line in lines if str(path) in line]


def links(pid: int | str = "self") -> set[str]:
    """Network links in the network namespace of a process."""
    try:
        lines = (_PROC / str(pid) / "net" / "dev").read_text().splitlines()[2:]
    except OSError:
        return set()
    return {line.partition(":")[0].strip() for line in lines}
