# SPDX-License-Identifier: Apache-2.0
"""No room for one more byte: writes are refused clearly, reads and watches go on, and all is well when room returns.

A limit on the size of files the server may write stands in for the disk: it needs no rights and no mount.
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from tests.crash.process import ServerProcess, session_to

MAPS = "/api/v1/namespaces/default/configmaps"
FILLER = {"a": "x" * 60_000}
FULL = 64 * 1024


@asynccontextmanager
async def started(directory: Path) -> AsyncIterator[tuple[ServerProcess, aiohttp.ClientSession]]:
    process = ServerProcess(directory / "data")
    try:
        await process.start()
        await process.settled()
        async with session_to(process) as session:
            yield process, session
        assert process.stop() == 0
        assert process.complaints() == []
    finally:
        process.kill()


def limit_files(process: ServerProcess, size: int) -> None:
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))


async def fill(session: aiohttp.ClientSession) -> tuple[dict[str, object], int]:
    """The first refusal, and how many writes went before it."""
    for number in range(200):
        body = {"metadata": {"name": f"filler-{number}"}, "data": FILLER}
        async with session.post(MAPS, json=body) as answer:
            if answer.status != 201:
                return await answer.json(), number
    raise AssertionError("the disk was never full")


async def test_a_full_disk_refuses_writes_and_nothing_else(tmp_path: Path) -> None:
    async with started(tmp_path) as (process, session):
        async with session.get(MAPS) as answer:
            version = (await answer.json())["metadata"]["resourceVersion"]
        watch = await session.get(MAPS, params={"watch": "1", "resourceVersion": version})
        limit_files(process, FULL)
        refusal, written = await fill(session)
        assert (refusal["kind"], refusal["code"], refusal["reason"]) == ("Status", 507, "InsufficientStorage")
        assert "disk is full" in str(refusal["message"])
        async with session.get(MAPS) as answer:
            names = [item["metadata"]["name"] for item in (await answer.json())["items"]]
        assert sum(name.startswith("filler-") for name in names) == written
        async with session.delete(f"{MAPS}/filler-0") as answer:
            assert answer.status in (200, 404, 507)  # a deletion is a small write and may still fit
        limit_files(process, resource.RLIM_INFINITY)
        async with session.post(MAPS, json={"metadata": {"name": "after"}}) as answer:
            assert answer.status == 201
        seen = ""
        while seen != "after":
            seen = json.loads(await asyncio.wait_for(watch.content.readline(), 20))["object"]["metadata"]["name"]
        watch.close()


async def test_a_restart_after_a_full_disk_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    async with started(tmp_path) as (process, session):
        limit_files(process, FULL)
        _, written = await fill(session)
        process.kill()
        await process.start()
    async with started(tmp_path) as (process, session), session.get(MAPS) as answer:
        names = [item["metadata"]["name"] for item in (await answer.json())["items"]]
        assert sum(name.startswith("filler-") for name in names) == written
