# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs import pages


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    pages.end_clusters(tmp_path)
