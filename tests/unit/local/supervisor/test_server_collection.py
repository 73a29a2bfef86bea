# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from springtide.local import cluster
from springtide.local.cluster import Options
from springtide.local.supervisor import failures, seeding, server
from springtide.local.supervisor.settings import ServerSettings


class Found:
    port = 7
    damaged = ()

    def client(self, name: str) -> str:
        return name


@pytest.fixture
def usual_collection() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("usual_collection")
async def test_a_server_that_is_up_says_so_and_collects_garbage_rarely(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @asynccontextmanager
    async def running(options: Options) -> AsyncIterator[Found]:
        assert options.listener is not None
        options.listener.close()
        os.kill(os.getpid(), signal.SIGTERM)  # handled by the loop, in its next turn
        yield Found()

    async def seed(client: str) -> tuple[str, ...]:
        return (f"{client} was refused",)

    monkeypatch.setattr(cluster, "running", running)
    monkeypatch.setattr(seeding, "seed", seed)
    reading, writing = os.pipe()
    bound = socket.socket()
    await server._serve(ServerSettings(str(tmp_path), "x", bound.detach(), writing))
    with os.fdopen(reading, "rb") as pipe:
        assert failures.heard(pipe.read()) == failures.Up(7, ("system:springtide was refused",))
    assert gc.get_threshold()[0] == server.COLLECT
