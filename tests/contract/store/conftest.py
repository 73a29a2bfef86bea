# SPDX-License-Identifier: Apache-2.0
"""Every test of this folder that asks for a store runs on each kind of store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from springtide.local.store import open_store
from springtide.local.store.backend import Store
from springtide.local.store.history import Limits

Opener = Callable[[Limits], Awaitable[Store]]


@pytest.fixture(params=["memory", "sqlite"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens stores with given limits and closes them after the test."""
    stores: list[Store] = []

    async def opener(limits: Limits) -> Store:
        path = tmp_path / f"store-{len(stores)}.db" if request.param == "sqlite" else None
        stores.append(await open_store(path, limits))
        return stores[-1]

    yield opener
    for store in stores:
        await store.close()


@pytest.fixture
async def store(opened: Opener) -> Store:
    return await opened(Limits())
