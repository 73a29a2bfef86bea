# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs import pages


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages whose commands are typed start clusters; the rest is read only."""
    for item in items:
        if isinstance(item, pytest.Function) and "home" in item.fixturenames and pages.HERE in item.path.parents:
            item.add_marker("clusters")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    pages.end_clusters(tmp_path)
