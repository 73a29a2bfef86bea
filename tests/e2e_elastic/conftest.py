# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e_elastic import environments
from tests.e2e_elastic.training import Training


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
