# SPDX-License-Identifier: Apache-2.0
"""An embedded cluster with one node, as `tide up -d` starts it, and what its processes use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import machine

from springtide.local.datadir import DataDir
from springtide.local.runtime import shim_client

# Installed packages have their byte code beside them; a development machine may forbid to write it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cluster:
    directory: DataDir
    up_after: float
    """Seconds that `tide up -d` took."""
    processes: dict[str, int]
    """Process ids of those that are not a pod's."""

    def shims(self) -> list[int]:
        """Those that live: what a pod has on disk goes a moment after its shim."""
        return [pid for path in self.directory.pods.glob("*") if (pid := shim_client.living(path)) is not None]

    def processor_seconds(self) -> dict[str, float]:
        """Used so far by each, and by what it has started and seen end; of pods, by the shims and inits that live."""
        found = {name: machine.used(pid, with_children=True) for name, pid in self.processes.items()}
        living = self.shims()
        inits = [child for pid in living for child in machine.children(pid)]
        return found | {"shims": sum(map(machine.used_exactly, [*living, *inits]))}


@contextmanager
def embedded() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        place = ["--data-dir", home]
        began = time.perf_counter()
        _tide("up", "-d", "--port", "0", *place)
        took = time.perf_counter() - began
        try:
            directory = DataDir(Path(home))
            yield Cluster(directory, took, _processes(directory))
        finally:
            _tide("down", *place)


def _tide(*words: str) -> None:
    command = [sys.executable, "-m", "springtide.cli", *words]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise SystemExit(f"tide {' '.join(words)}: {done.stderr or done.stdout}")


def _processes(directory: DataDir) -> dict[str, int]:
    supervisor, server = directory.process(), directory.server_process()
    assert supervisor is not None
    assert server is not None
    agent = next(pid for pid in machine.children(supervisor) if "springtide.local.kubelet" in machine.words(pid))
    fork_server = next(pid for pid in machine.children(agent) if "runtime.fork_server" in " ".join(machine.words(pid)))
    found = {"supervisor": supervisor, "server": server, "agent": agent, "fork_server": fork_server}
    holder = directory.network / "holder.json"
    return found | ({"network": int(json.loads(holder.read_bytes())["pid"])} if holder.exists() else {})
