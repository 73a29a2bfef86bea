# SPDX-License-Identifier: Apache-2.0
"""The clusters that the suite is run on.

root     an embedded cluster started by root
user     one started by an ordinary user: by another user where root runs the tests, else by whoever does
given    whatever SPRINGTIDE_PODS_KUBECONFIG leads to, and nothing else; SPRINGTIDE_PODS_IMAGE names an image with
         sh and python3 that its nodes can pull
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.runtime import ordinary

from springtide.local.datadir import DataDir

GIVEN = os.environ.get("SPRINGTIDE_PODS_KUBECONFIG", "")
KINDS = ("given",) if GIVEN else ("root", "user")
NODES = ("--node", "one=cpu:8,memory:16Gi,example.com/thing:4", "--node", "two=cpu:8,memory:16Gi,label:second=yes")
NOT_FOR_PODS = "SPRINGTIDE_TEST_NOT_FOR_PODS"
"""A variable of the cluster's own processes that no pod may see."""


@dataclass(frozen=True)
class Cluster:
    kind: str
    kubeconfig: Path
    place: DataDir | None = None
    """The files of an embedded one."""
    is_of_another: bool = False
    """Whether it was started by another user than the tests."""

    @property
    def is_embedded(self) -> bool:
        return self.place is not None

    def tide(self, *words: str) -> None:
        """As the user of an embedded cluster."""
        assert self.place is not None
        _tide(self.is_of_another, self.place.path.parent, *words)

    @property
    def patience(self) -> float:
        """Seconds; a real kubelet looks at changed config maps once a minute, and pulls images."""
        return 30.0 if self.is_embedded else 150.0


@contextmanager
def running(kind: str) -> Iterator[Cluster]:
    if kind == "given":
        yield Cluster(kind, Path(GIVEN))
        return
    home = Path(tempfile.mkdtemp(prefix=f"springtide-pods-{kind}-"))
    is_another = kind == "user" and os.geteuid() == 0
    if is_another:
        os.chown(home, ordinary.UID, ordinary.UID)
    place = DataDir(home / "cluster")
    try:
        _tide(is_another, home, "up", "--detach", "--port", "0", *NODES, "--data-dir", str(place.path))
        yield Cluster(kind, place.kubeconfig, place, is_another)
        _complain_of_crashes(place)
    finally:
        _tide(is_another, home, "down", "--grace", "0", "--data-dir", str(place.path))
        shutil.rmtree(home)


def _complain_of_crashes(place: DataDir) -> None:
    """Whatever the tests did to it, no part of the cluster was surprised by it."""
    for path in (place.path / "server.log", *place.nodes.rglob("*.log"), *place.network.rglob("*.log")):
        log = path.read_text(errors="replace") if path.exists() else ""
        assert "Traceback" not in log, f"{path.name}:\n{log[max(0, log.index('Traceback') - 500) :][:5000]}"


def _tide(is_another: bool, home: Path, *words: str) -> None:
    argv = [sys.executable, "-m", "springtide.cli", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), NOT_FOR_PODS: "1"}
    done = subprocess.run(
        ordinary.command(argv) if is_another else argv,
        cwd=ordinary.REPOSITORY,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
