# SPDX-License-Identifier: Apache-2.0
"""Clusters for real programs: one per file and user, and a namespace for every test.

`make test-programs` sets SPRINGTIDE_TOOLS, where stock kubectl is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.programs import clusters, wheels
from tests.programs.world import Cluster

Start = Callable[..., Cluster]


@pytest.fixture(scope="session")
def public() -> Iterator[Path]:
    with clusters.public_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def packages(public: Path) -> Path:
    shutil.copytree(wheels.fetched(wheels.OPEN_MPI_5), public / "wheels")
    return public / "wheels"


@pytest.fixture(scope="module", params=[clusters.OWN_USER, clusters.ORDINARY_USER])
def user(request: pytest.FixtureRequest) -> str:
    if request.param == clusters.ORDINARY_USER and os.geteuid() != 0:
        pytest.skip("whoever runs the tests is an ordinary user already")
    return str(request.param)


@pytest.fixture(scope="module")
def started(public: Path) -> Iterator[Start]:
    """Starts clusters; each is stopped at the end, and must leave nothing behind."""
    with ExitStack() as stack:

        def start(*options: str, user: str = clusters.OWN_USER) -> Cluster:
            return stack.enter_context(clusters.running(public, *options, user=user))

        yield start
