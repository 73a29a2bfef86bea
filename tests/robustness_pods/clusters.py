# SPDX-License-Identifier: Apache-2.0
"""Clusters to be cruel to: each test has its own, as root or as an ordinary user, wherever it wants it to lie."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import small_disks
from tests.conformance.programs import Kubectl
from tests.integration.runtime import ordinary
from tests.pods.clusters import Cluster
from tests.pods.spaces import Space

from springtide.kube.client import Client
from springtide.kube.resources import SERVICEACCOUNTS, Key
from springtide.local.datadir import DataDir
from springtide.local.supervisor import leftovers

NODE = "a"


@dataclass(frozen=True)
class Victim:
    """A cluster with one node, and the processes that it is made of."""

    kind: str
    home: Path
    place: DataDir

    def tide(self, *words: str) -> str:
        argv = [sys.executable, "-m", "springtide.cli", *words, "--data-dir", str(self.place.path)]
        done = subprocess.run(
            ordinary.command(argv) if self.is_another else argv,
            cwd=ordinary.REPOSITORY,
            env={**self._environment(), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def is_another(self) -> bool:
        return self.kind == "user" and os.geteuid() == 0

    def up(self, *options: str) -> None:
        self.tide("up", "--detach", "--port", "0", "--node", f"{NODE}=cpu:8,memory:16Gi", *options)

    def down(self, *options: str) -> None:
        self.tide("down", *options)

    # Processes

    def supervisor(self) -> int:
        process = self.place.process()
        assert process is not None
        return process

    def server(self) -> int:
        process = self.place.server_process()
        assert process is not None
        return process

    def agent(self) -> int:
        """The one that holds the node's lock; 0 while there is none."""
        return min(self.processes("springtide.local.kubelet"), default=0)

    def processes(self, module: str) -> set[int]:
        """Those that run this module for the cluster."""
        found = set()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                line = path.read_bytes()
                if os.fsencode(module) in line.split(b"\0") and os.fsencode(self.place.path) in line:
                    found.add(int(path.parent.name))
        return found

    def holder(self) -> int:
        return int(json.loads((self.place.network / "holder.json").read_bytes())["pid"])

    def shim(self, uid: str) -> int:
        """0 where it is gone."""
        return leftovers.shim(self.place.pods / uid) or 0

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.home)}


@contextmanager
def victim(kind: str, below: str = "c", within: str | None = None) -> Iterator[Victim]:
    """Not started yet; stopped and gone afterwards, with all its processes. `within`: a directory that is no place of
    temporary files, which every pod has to itself."""
    if kind == "root" and os.geteuid() != 0:
        pytest.skip("only root can start a cluster as root")
    home = Path(tempfile.mkdtemp(prefix=f"springtide-hard-{kind}-", dir=within))
    found = Victim(kind, home, DataDir(home / below))
    if found.is_another:
        os.chown(home, ordinary.UID, ordinary.UID)
    try:
        yield found
        if found.place.is_running():
            found.down("--grace", "0")
        _await_nothing(home)
    finally:
        shutil.rmtree(home)


def _await_nothing(home: Path) -> None:
    """The process that kept the cluster up is still on its way out when others may begin."""
    deadline = time.monotonic() + 10
    while left := _left(home):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def _left(home: Path) -> list[str]:
    """Processes and mounts that still know the place."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if os.fsencode(f"{home}/") in (words := path.read_bytes()):
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found + [line for line in Path("/proc/self/mounts").read_text().splitlines() if f"{home}/c/" in line]


@contextmanager
def small_disk(path: Path, owner: Path, size: str) -> Iterator[None]:
    """A file system of its own at a path, that belongs to whom another path belongs to."""
    path.mkdir(parents=True, exist_ok=True)
    status = owner.stat()
    for each in (path, *path.parents):
        if each.is_relative_to(owner) and os.geteuid() == 0:
            os.chown(each, status.st_uid, status.st_gid)
    if why := small_disks.mount(path, owner, size):
        pytest.skip(why)
    try:
        yield
    finally:
        small_disks.unmount(path)


@asynccontextmanager
async def space_on(found: Victim) -> AsyncIterator[Space]:
    """Its default namespace."""
    async with await Client.connect(str(found.place.kubeconfig)) as client:
        cluster = Cluster(found.kind, found.place.kubeconfig, found.place)
        space = Space(client, cluster, "default", Kubectl("kubectl", found.place.kubeconfig, "default", found.home))
        await space.eventually(lambda: client.find(SERVICEACCOUNTS, Key("default", "default")), bool)
        yield space
