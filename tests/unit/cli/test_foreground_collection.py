# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from springtide.cli import foreground
from springtide.cli.options import chosen
from springtide.local import cluster
from springtide.local.cluster import Options


class Server:
    """One that finds its directory gone as soon as it is up, and so stops at once."""

    port = 1

    def __init__(self) -> None:
        self.directory = self
        self.path = Path("gone")
        self.thresholds: tuple[int, int, int] | None = None

    def is_still_there(self) -> bool:
        self.thresholds = gc.get_threshold()
        return False


class Starter:
    def told_up(self, port: int) -> None:
        assert port == Server.port


@pytest.fixture
def usual_collection() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("usual_collection")
async def test_a_server_that_is_up_collects_garbage_rarely(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = Server()

    @asynccontextmanager
    async def running(options: Options) -> AsyncIterator[Server]:
        yield server

    monkeypatch.setattr(cluster, "running", running)
    monkeypatch.setattr(foreground, "_SIGNALS", ())
    starter: Any = Starter()
    await foreground._serve(chosen(None, tmp_path), Options(tmp_path), starter)
    assert server.thresholds == foreground._COLLECT
