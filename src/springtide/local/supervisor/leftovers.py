# SPDX-License-Identifier: Apache-2.0
"""Pods on disk and their shims: found without an agent, and killed when there is no agent.

A shim writes its process id and start time into its pod's directory, so that a reused process id is never signalled. A
shim that is still starting, or whose directory was removed, is found by its command line, which names the directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springtide.local.datadir import DataDir, log_name
from springtide.local.kubelet.containers import exec_sockets
from springtide.local.runtime import remains

_PROC = Path("/proc")
_SHIM = b"springtide.local.runtime."
"""Part of the command line of every shim."""
_GONE = 5.0
"""How many seconds a killed process may take to exit."""


@dataclass(frozen=True, slots=True)
class PodOnDisk:
    path: Path
    node: str
    logs: str
    """The name of its log directory."""


def pods(directory: DataDir, node: str | None = None) -> list[PodOnDisk]:
    """All pods, or those of one node."""
    found = (_pod(path) for path in sorted(directory.pods.glob("*")))
    return [pod for pod in found if pod is not None and node in (None, pod.node)]


def _pod(path: Path) -> PodOnDisk | None:
    written = _read(path / "pod.json")
    try:
        return PodOnDisk(path, written["node"], log_name(written["namespace"], written["name"], written["uid"]))
    except KeyError:
        return None


def living(directory: DataDir) -> int:
    """The number of pods with a living shim."""
    return sum(shim(pod.path) is not None for pod in pods(directory))


def kill(directory: DataDir, node: str | None = None) -> None:
    """Kills all pods, or those of one node: the kernel kills the other processes of a shim's pod."""
    doomed = {pod.path for pod in pods(directory, node)}
    shims = {pid for path in doomed if (pid := shim(path)) is not None}
    shims |= {pid for pid, path in _by_command_line(directory).items() if node is None or path in doomed}
    for pid in shims:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # exited; the process id may be reused
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _GONE
    while time.monotonic() < deadline and any(_is_running(pid) for pid in shims):
        time.sleep(0.01)


def remove(directory: DataDir, node: str) -> None:
    """Removes the files of a deleted node, but the logs that are kept of its pods."""
    from springtide.local.pod_logs import keeping  # noqa: PLC0415 - `tide down` must start quickly

    for pod in pods(directory, node):
        keeping.keep(directory.path, directory.path / "logs" / pod.logs)
        exec_sockets.remove(directory.path / "exec", pod.path.name)
        with contextlib.suppress(OSError):
            remains.discard(pod.path)
    shutil.rmtree(directory.nodes / node, ignore_errors=True)


def shim(pod: Path) -> int | None:
    """The process id of the living shim of the pod in this directory."""
    written = _read(pod / "shim.json")
    pid = written.get("pid")
    if not isinstance(pid, int) or written.get("boot") != _boot():
        return None
    if sys.platform != "linux":
        return pid if _is_running(pid) else None
    try:
        found = _stat(pid)
        return pid if int(found[19]) == written.get("start") and found[0] not in "ZX" else None
    except OSError:
        return None


def _by_command_line(directory: DataDir) -> dict[int, Path]:
    """The pod directories of all shims, and of processes that a shim forked and that have not exec'ed yet."""
    prefix = os.fsencode(directory.pods) + b"/"
    found = {}
    for path in _PROC.glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # exited
        place = next((word for word in words if word.startswith(prefix)), None)
        if place is not None and any(_SHIM in word for word in words):
            found[int(path.parent.name)] = Path(os.fsdecode(place))
    return found


def _is_running(pid: int) -> bool:
    try:
        if sys.platform == "linux":
            return _stat(pid)[0] not in "ZX"
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on: the second may contain any text."""
    return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()


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
