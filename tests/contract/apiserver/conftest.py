# SPDX-License-Identifier: Apache-2.0
"""One embedded server for the whole suite; every scenario has a namespace of its own in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contract.apiserver.servers import Server, embedded


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with embedded(tmp_path_factory.mktemp("cluster")) as running:
        yield running
