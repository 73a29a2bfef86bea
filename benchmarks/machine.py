# SPDX-License-Identifier: Apache-2.0
"""What benchmarks have in common: the machine they ran on, what its processes use, how a figure is shown."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import ssl
import statistics
import subprocess
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

Figures = dict[str, float]
TICKS = os.sysconf("SC_CLK_TCK")


def described() -> dict[str, Any]:
    """What the figures were measured on."""
    processor = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    memory = next(int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal"))
    etcd = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=False) if _has("etcd") else None
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / (1 << 20)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION,
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: metadata.version(name) for name in ("aiohttp", "msgspec")},
        "etcd": etcd.stdout.split("\n")[0].rpartition(" ")[2] if etcd else None,
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _has(program: str) -> bool:
    return shutil.which(program) is not None


# -- figures -----------------------------------------------------------------------------------------------------------


def medians(rounds: Sequence[Figures]) -> Figures:
    return {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}


def at(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is its head and whose figures stand on the right."""
    head, *body = rows
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, marks, *body])


# -- processes, as Linux shows them ------------------------------------------------------------------------------------


def resident(pid: int) -> float:
    """MB."""
    return _status(pid, "VmRSS:")


def peak(pid: int) -> float:
    """MB that were resident at once, at most."""
    return _status(pid, "VmHWM:")


def _status(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"process {pid} is gone")


def proportional(pid: int) -> float:
    """MB, with what is shared by several processes counted once in all."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"process {pid} is gone")


def used(pid: int, with_children: bool = False) -> float:
    """Seconds of processor time so far; with those of the children that it has waited for."""
    return sum(map(int, _stat(pid)[11 : 15 if with_children else 13])) / TICKS


def busy() -> float:
    """Seconds that all processors together have worked so far, for whomever; what a host took from them counts too."""
    user, nice, system, _, _, *others = map(int, _lines("/proc/stat")[0].split()[1:9])
    return (user + nice + system + sum(others)) / TICKS


def used_exactly(pid: int) -> float:
    """The same of a process with one thread, when it has used less than a tick."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def started(pid: int) -> float:
    """When a process began, in seconds since the epoch."""
    up = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - up + int(_stat(pid)[19]) / TICKS


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def words(pid: int) -> list[str]:
    """Its command line."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def _stat(pid: int) -> list[str]:
    """The fields after the program's name, from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
