# SPDX-License-Identifier: Apache-2.0
"""Clusters that are started for tests, as one user or another, and must leave nothing behind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.programs import Kubectl, tool
from tests.integration.cli.conftest import Tide
from tests.integration.runtime import ordinary
from tests.integration.supervisor.conftest import processes
from tests.programs.world import Cluster

OWN_USER, ORDINARY_USER = "own user", "ordinary user"
"""Whoever runs the tests; and, where that is root, somebody without rights."""


@contextmanager
def public_folder() -> Iterator[Path]:
    """What any user may read: kubectl, and what the tests put there."""
    with tempfile.TemporaryDirectory(prefix="springtide-public-") as folder:
        Path(folder).chmod(0o755)
        shutil.copy(tool("kubectl"), Path(folder) / "kubectl")
        yield Path(folder)


@contextmanager
def running(public: Path, *options: str, user: str = OWN_USER) -> Iterator[Cluster]:
    with _home(user) as tide:
        tide.ok("up", "-d", "--port", "0", *options)
        home = public / f"kubectl-{tide.home.name}"
        home.mkdir(0o700)
        try:
            yield Cluster(tide, Kubectl(str(public / "kubectl"), tide.place().kubeconfig, "default", home), public)
        finally:
            tide.ok("down", "--grace", "1s")
        assert processes(tide.place()) == {}


@contextmanager
def _home(user: str) -> Iterator[Tide]:
    """Not in pytest's folders, which only their owner enters."""
    program = [sys.executable, "-m", "springtide.cli"]
    home = Path(tempfile.mkdtemp(prefix="springtide-home-"))
    if user == ORDINARY_USER:
        os.chown(home, ordinary.UID, ordinary.UID)
        program = [sys.executable, ordinary.__file__, *program]
    tide = Tide(home, program, {"PYTHONDONTWRITEBYTECODE": "1"})
    try:
        yield tide
    finally:
        tide.kill_all()
        shutil.rmtree(home, ignore_errors=True)
