# SPDX-License-Identifier: Apache-2.0
"""A node for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.kubelet_serving.node import Node, a_node


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with a_node(tmp_path) as found:
        yield found
