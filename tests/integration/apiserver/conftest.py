# SPDX-License-Identifier: Apache-2.0
"""An embedded cluster per module, and plain HTTP towards it as any program would speak it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from springtide.local.cluster import Cluster, Options, running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    async with running(Options(tmp_path_factory.mktemp("cluster"), port=0, audit=True)) as found:
        yield found
