# SPDX-License-Identifier: Apache-2.0
"""A holder as its supervisor sees it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.patience import until

from springtide.local.network import netd_client
from springtide.local.network.netd_client import NetdError


@pytest.fixture
async def data_dir(tmp_path: Path) -> AsyncIterator[Path]:
    try:
        await netd_client.ensure(tmp_path, uplink=False)
    except NetdError as problem:
        pytest.skip(f"this system refuses namespaces: {problem}")
    yield tmp_path
    await netd_client.end(tmp_path)


async def pid(data_dir: Path) -> int:
    return int((await netd_client.info(data_dir)).get("pid", 0))


async def test_a_living_holder_is_found_and_not_started_twice(data_dir: Path) -> None:
    first = await pid(data_dir)
    assert await netd_client.ensure(data_dir) == first


async def test_a_holder_that_was_killed_is_replaced_while_somebody_keeps_it(data_dir: Path) -> None:
    first = await pid(data_dir)
    keeping = asyncio.create_task(netd_client.keep(data_dir, uplink=False))
    os.kill(first, signal.SIGKILL)
    second = await until(lambda: pid(data_dir), lambda number: number not in (0, first), 10)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert await pid(data_dir) == second


async def test_a_holder_without_its_servant_makes_way_for_a_successor(data_dir: Path) -> None:
    first = await pid(data_dir)
    servant = int(Path(f"/proc/{first}/task/{first}/children").read_text())  # noqa: ASYNC240 - /proc does not block
    os.kill(servant, signal.SIGKILL)
    await until(lambda: pid(data_dir), lambda number: number == 0, 10)
    assert await netd_client.ensure(data_dir, uplink=False) != first


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
async def test_a_terminals_signals_do_not_reach_it(data_dir: Path, number: int) -> None:
    first = await pid(data_dir)
    os.kill(first, number)
    assert await pid(data_dir) == first


async def test_it_says_what_way_out_there_is(data_dir: Path) -> None:
    answer = await netd_client.settled(data_dir)
    assert (answer["uplink"], answer["why"], answer["looking"]) == ("none", "not wanted", False)


async def test_one_that_is_only_starting_is_waited_for(data_dir: Path) -> None:
    await netd_client.end(data_dir)
    waiting = asyncio.create_task(netd_client.settled(data_dir, patience=30))
    number = await netd_client.ensure(data_dir, uplink=False)
    assert (await waiting)["pid"] == number


async def test_one_that_never_comes_is_not_waited_for_without_end(tmp_path: Path) -> None:
    assert await netd_client.settled(tmp_path, patience=0.1) == {}


async def test_it_ends_when_it_is_told_to(data_dir: Path) -> None:
    await netd_client.end(data_dir)
    assert await netd_client.info(data_dir) == {}
    await netd_client.end(data_dir)


async def test_it_ends_when_it_is_terminated(data_dir: Path) -> None:
    os.kill(await pid(data_dir), signal.SIGTERM)
    await until(lambda: pid(data_dir), lambda number: number == 0, 10)
