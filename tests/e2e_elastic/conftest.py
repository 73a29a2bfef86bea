# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.conftest import Start, a_namespace
from tests.e2e.conftest import clusters as clusters  # the fixture
from tests.e2e_elastic import environments, images
from tests.e2e_elastic.training import Training
from tests.programs.clusters import OWN_USER
from tests.programs.world import Cluster


@pytest.fixture(scope="session")
def torch_python() -> Path:
    return environments.python(environments.TORCH)


@pytest.fixture(scope="session")
def tensorflow_python() -> Path:
    return environments.python(environments.TENSORFLOW)


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Callable[..., Training]]:
    runs: list[Training] = []

    def trained(hosts: str, python: Path, *program: str, **variables: str) -> Training:
        runs.append(Training(tmp_path, hosts, python, *program, **variables))
        return runs[-1]

    yield trained
    for each in runs:
        each.close()


@pytest.fixture
def space(clusters: Start) -> Iterator[Callable[..., Cluster]]:
    """Called with the names of images it gives a cluster that has them, in a namespace of the test's own."""
    with ExitStack() as stack:

        def prepared(*names: str) -> Cluster:
            cluster = clusters(OWN_USER)
            for name in names:
                images.offer(cluster, name)
            return stack.enter_context(a_namespace(cluster))

        yield prepared
