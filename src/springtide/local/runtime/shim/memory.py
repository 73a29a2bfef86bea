# SPDX-License-Identifier: Apache-2.0
"""CPU and memory usage of a container's processes, and cgroups that enforce its memory limit."""

from __future__ import annotations

import os

from springtide.local.runtime.shim.json_lines import read_json
from springtide.local.runtime.shim.kernel import Ignoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


SAMPLING = 0.2
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def resident(proc: str, pids: Iterable[int]) -> int:
    """Resident bytes of processes, counting shared memory once per process: cheap, and never too low."""
    total = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            continue
    return total


def proportional(proc: str, pids: Iterable[int]) -> int:
    """Like `resident`, but shared memory counts once in total, which is fair to forked data loaders: expensive, and
    exact."""
    total = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/smaps_rollup", "rb") as file:
                total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
        except OSError:
            total += resident(proc, [pid])
    return total


def processor_time(proc: str, pids: Iterable[int]) -> float:
    """Seconds of CPU used by processes and by the children they have waited for."""
    ticks = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/stat", "rb") as file:
                ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / TICKS


def descendants(tree: dict[int, int], roots: Iterable[int]) -> set[int]:
    found = {pid for pid in roots if pid in tree}
    grown = True
    while grown:
        more = {pid for pid, parent in tree.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


GROUP_NOTE = "group.json"


class MemoryGroup:
    """A container's own cgroup v2, where the memory controller is delegated to us."""

    def __init__(self, path: str, limit: int) -> None:
        self.path = path
        for name, value in (("memory.max", limit), ("memory.swap.max", 0), ("memory.oom.group", 1)):
            try:
                self._write(name, str(value))
            except OSError:
                if name == "memory.max":
                    os.rmdir(path)
                    raise

    @classmethod
    def make(cls, own: str, name: str, limit: int) -> MemoryGroup | None:
        """Create the cgroup below our own or, when that is a leaf, beside it; None where that is not permitted."""
        for parent in _parents_of_groups(own):
            if os.path.exists(f"{parent}/cgroup.subtree_control"):
                with Ignoring(OSError):
                    os.mkdir(f"{parent}/{name}")
                    return cls(f"{parent}/{name}", limit)
        return None

    @staticmethod
    def remove_left(own: str, name: str) -> None:
        """Remove a cgroup of a shim that was killed."""
        for parent in _parents_of_groups(own):
            with Ignoring(OSError):
                os.rmdir(f"{parent}/{name}")

    def join(self) -> None:
        self._write("cgroup.procs", "0")

    def killed(self) -> bool:
        try:
            with open(f"{self.path}/memory.events") as file:
                return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in file)
        except OSError:
            return False

    def remove(self) -> None:
        with Ignoring(OSError):
            os.rmdir(self.path)

    def _write(self, name: str, text: str) -> None:
        fd = os.open(f"{self.path}/{name}", os.O_WRONLY)  # never created: a cgroup without this file limits nothing
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def _parents_of_groups(own: str) -> tuple[str, str]:
    return own, os.path.dirname(own)


def remove_groups(directory: str) -> None:
    """Remove the cgroups that a pod's shims have left, found by the notes in its containers' directories."""
    with Ignoring(FileNotFoundError):
        for name in os.listdir(f"{directory}/containers"):
            note = f"{directory}/containers/{name}/{GROUP_NOTE}"
            with Ignoring(FileNotFoundError), Ignoring(ValueError):
                MemoryGroup.remove_left(*read_json(note))
                os.unlink(note)


def own_group() -> str:
    """The directory of the caller's cgroup v2."""
    with Ignoring(OSError), open("/proc/self/cgroup") as file:
        for line in file:
            if line.startswith("0::"):
                return "/sys/fs/cgroup" + line[3:].strip().rstrip("/")
    return ""
