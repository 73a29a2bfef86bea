# SPDX-License-Identifier: Apache-2.0
"""Pods on disk and the shims that keep them alive: found without an agent, and killed when there is none to ask.

A shim says in its pod's directory which process it is, so that no stranger with a used number is ever hit. When the
data directory itself is gone, the command lines of all processes are looked through instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springtide.local.datadir import DataDir

_PROC = Path("/proc")
_GONE = 5.0
"""Seconds a killed process may take to be gone."""


@dataclass(frozen=True, slots=True)
class PodOnDisk:
    path: Path
    node: str
    logs: str
    """The name of its directory of logs."""


def pods(directory: DataDir) -> list[PodOnDisk]:
    found = (_pod(path) for path in sorted(directory.pods.glob("*")))
    return [pod for pod in found if pod is not None]


def _pod(path: Path) -> PodOnDisk | None:
    written = _read(path / "pod.json")
    try:
        return PodOnDisk(path, written["node"], f"{written['namespace']}_{written['name']}_{written['uid']}")
    except KeyError:
        return None


def kill(directory: DataDir, doomed: Iterable[PodOnDisk]) -> None:
    """With all that runs in them: the kernel ends what a shim leaves behind."""
    shims = [pid for pod in doomed if (pid := shim(pod.path)) is not None]
    if not directory.pods.exists():
        shims += strays(directory)
    for pid in shims:
        _send_kill(pid)
    deadline = time.monotonic() + _GONE
    while time.monotonic() < deadline and any(_is_running(pid) for pid in shims):
        time.sleep(0.01)


def remove(directory: DataDir, gone: Iterable[PodOnDisk]) -> None:
    """What a node that is gone had on disk."""
    for pod in gone:
        shutil.rmtree(directory.path / "logs" / pod.logs, ignore_errors=True)
        shutil.rmtree(pod.path, ignore_errors=True)


def shim(pod: Path) -> int | None:
    """The living shim of the pod in this directory."""
    written = _read(pod / "shim.json")
    pid = written.get("pid")
    if not isinstance(pid, int) or written.get("boot") != _boot() or written.get("start") != _start(pid):
        return None
    return pid


def strays(directory: DataDir) -> list[int]:
    """Shims of this directory's pods, by their command lines."""
    prefix = os.fsencode(directory.pods) + b"/"
    found = []
    for path in _PROC.glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # gone by now
        if any(word.endswith(b"/shim.py") for word in words) and any(word.startswith(prefix) for word in words):
            found.append(int(path.parent.name))
    return found


def _send_kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # gone by now, and maybe the number taken
        os.kill(pid, signal.SIGKILL)


def _is_running(pid: int) -> bool:
    try:
        return _stat(pid)[0] not in "ZX"
    except OSError:
        return False


def _start(pid: int) -> int:
    try:
        return int(_stat(pid)[19])
    except OSError:
        return -1


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on: the second may hold anything."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _read(path: Path) -> dict[str, Any]:
    try:
        written = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}
