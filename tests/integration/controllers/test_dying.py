# SPDX-License-Identifier: Apache-2.0
"""The operator dies between any two writes, and whoever comes next goes on from there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.integration.controllers import chronicle
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

from springtide.kube.resources import PODS

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAUNCHER = f"{NAME}-launcher"
WORKERS = [f"{NAME}-worker-{index}" for index in range(4)]
SWIFT = {f"springtide.dev/{name}-seconds": "0" for name in ("drain", "settle", "start")}


@pytest.mark.parametrize("version", [V1, V2])
@pytest.mark.parametrize("heard", [True, False], ids=["answered", "unanswered"])
@pytest.mark.parametrize("writes", [1, 2, 5])
async def test_every_operator_dies_after_so_many_writes(world: World, version: str, writes: int, heard: bool) -> None:
    async with _told(world) as told, meanwhile(_mortals(world, writes, heard)):
        await _story(world, version)
    told.verify()
    assert told.workers() == WORKERS


@pytest.mark.parametrize("version", [V1, V2])
@pytest.mark.parametrize("writes", [1, 2])
async def test_also_while_a_job_is_suspended_and_resumed(world: World, version: str, writes: int) -> None:
    async with _told(world) as told, meanwhile(_mortals(world, writes, True)):
        await world.submit(job(version, command=ELASTIC, annotations=SWIFT))
        await _runs_with(world, 0, 1)
        for _ in range(2):
            await world.patch({"spec": {"runPolicy": {"suspend": True}}})
            await world.until_condition("Suspended")
            await world.until(lambda: world.all_of(PODS), lambda found: not found)
            await world.until(world.listed, lambda found: not found)
            await world.patch({"spec": {"runPolicy": {"suspend": False}}})
            await world.until_condition("Suspended", "False")
            await world.until(world.listed, lambda found: len(found) == 2)
            await world.until(world.status, lambda found: _settled(found, 2))
    told.verify(one_run=False)


async def test_a_server_that_could_not_be_reached_for_a_while_is_caught_up_with(operated: World) -> None:
    await operated.running(job(V1, command=ELASTIC, annotations=SWIFT))
    await operated.quiet()
    operated.wire.refuses = "/"
    await operated.resize(3)
    await operated.kubelet.fail(f"{NAME}-worker-0")
    await operated.quiet()
    operated.wire.refuses = ""
    await operated.until_workers(1, 2, 3)
    await operated.workers_run(3)
    await operated.until_listed(1, 2, 3)
    await operated.until_state("Running")


@pytest.mark.parametrize("version", [V1, V2])
async def test_a_job_at_rest_costs_no_write_not_even_a_new_operator(operated: World, version: str) -> None:
    launcher = await operated.running(job(version))

    async def annotations() -> dict[str, str]:
        found: dict[str, str] = (await operated.get(PODS, launcher))["metadata"]["annotations"]
        return found

    await operated.until(annotations, lambda found: "springtide.dev/host-list-again" in found)
    await operated.quiet()
    await operated.restart()
    await operated.quiet()
    assert operated.wire.written() == []


@pytest.mark.parametrize("version", [V1, V2])
async def test_two_that_do_not_know_of_each_other_do_no_harm(world: World, version: str) -> None:
    """As when a leader was frozen, and goes on for a moment beside its successor."""
    await world.start()
    await world.start()
    async with _told(world) as told:
        await _story(world, version)
    told.verify()
    assert told.workers() == WORKERS


async def _mortals(world: World, writes: int, heard: bool) -> None:
    """One operator after another, each of which dies after so many writes, before or after it hears of the last."""
    while True:
        wire = await world.start(Wire(world.server.transport(), writes, hears_the_last=heard))
        await wire.cut.wait()
        await world.kill(wire)


@asynccontextmanager
async def _told(world: World) -> AsyncIterator[chronicle.Chronicle]:
    """All that happens is written down, and pods live their lives."""

    async def pods_live() -> None:
        while True:
            await world.everything_moves()
            await asyncio.sleep(0.01)

    async with chronicle.kept(world.client, world.namespace) as told, meanwhile(pods_live()):
        yield told


async def _story(world: World, version: str) -> None:
    """A job starts, grows, shrinks, loses a worker and succeeds."""
    await world.submit(job(version, command=ELASTIC, annotations=SWIFT, runPolicy={"cleanPodPolicy": "Running"}))
    await _runs_with(world, 0, 1)
    await world.resize(3)
    await _runs_with(world, 0, 1, 2)
    await world.resize(1)
    await _runs_with(world, 0)
    await world.kubelet.fail(f"{NAME}-worker-0")
    await _runs_with(world, 3)
    launcher = await world.launcher()
    await world.kubelet.succeed(launcher)
    if version == V2:
        await world.kubelet.complete(LAUNCHER)
    await world.until_state("Succeeded")
    await world.until(lambda: world.all_of(PODS), lambda found: not any("-worker-3" in name for name in found))
    status = await world.until(world.status, lambda found: not found.get("replicas"))
    assert status["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    assert status["restarts"] == {"Worker": 1}


async def _runs_with(world: World, *indices: int) -> None:
    await world.until_listed(*indices)
    await world.until_workers(*indices)
    await world.until(world.status, lambda found: _settled(found, len(indices)))


def _settled(status: dict[str, Any], size: int) -> bool:
    return (status.get("state"), status.get("workers")) == ("Running", f"{size}/{size}")
