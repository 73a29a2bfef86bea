# SPDX-License-Identifier: Apache-2.0
"""Users change their minds, pods die and operators with them, in any order: in the end the job is as it is wanted.

SPRINGTIDE_STORM_SEEDS=0-199 chooses the storms.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from tests.integration.controllers import chronicle
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

from springtide.kube import errors
from springtide.kube.resources import PODS

pytestmark = pytest.mark.asyncio(loop_scope="session")

SWIFT = {f"springtide.dev/{name}-seconds": "0" for name in ("drain", "settle", "start")}
COMMAND = (*ELASTIC[:2], "1", *ELASTIC[3:])
"""Of a launcher that starts with any number of workers."""
STEPS = 15
ORIGINAL = 2
"""Workers that may fail by themselves: after a failure in its place a worker is replaced only after a while."""


def _seeds() -> range:
    first, _, last = os.environ.get("SPRINGTIDE_STORM_SEEDS", "0-3").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("seed", _seeds())
async def test_after_a_storm_the_job_is_as_wanted(world: World, seed: int) -> None:
    chance = random.Random(seed)
    storm = Storm(world, chance)
    version = chance.choice([V1, V2])
    async with chronicle.kept(world.client, world.namespace) as told, meanwhile(_pods_live(world), storm.operators()):
        await world.submit(job(version, command=COMMAND, annotations=SWIFT))
        for _ in range(STEPS):
            await storm.step()
            await asyncio.sleep(chance.choice([0, 0, 0.02, 0.1, 0.4]))
        storm.over.set()
        await _calm(world, storm.size)
    told.verify()


class Storm:
    def __init__(self, world: World, chance: random.Random) -> None:
        self.size = 2
        self.over = asyncio.Event()
        self._world, self._chance = world, chance
        self._steps: list[Callable[[], Awaitable[None]]] = [
            *([self._resize] * 3),
            self._delete_worker,
            self._fail_worker,
            self._touch,
            self._point,
        ]

    async def operators(self) -> None:
        """One after the other; the one after the storm lives."""
        while True:
            left = None if self.over.is_set() else self._chance.randint(1, 12)
            heard = self._chance.random() < 0.5
            wire = await self._world.start(Wire(self._world.server.transport(), left, hears_the_last=heard))
            await wire.cut.wait()
            await self._world.kill(wire)

    async def step(self) -> None:
        # Whatever it was about may be gone.
        with suppress(errors.NotFound, errors.Conflict, errors.Invalid):
            await self._chance.choice(self._steps)()

    async def _resize(self) -> None:
        self.size = self._chance.randint(1, 4)
        await self._world.resize(self.size)

    async def _delete_worker(self) -> None:
        name = await self._a_worker()
        await self._world.delete(PODS, name)

    async def _fail_worker(self) -> None:
        name = await self._a_worker()
        if int(name.rpartition("-")[2]) < ORIGINAL:
            await self._world.kubelet.fail(name)

    async def _point(self) -> None:
        name = await self._a_worker()
        await self._world.kubelet.annotate(name, victim="true")

    async def _touch(self) -> None:
        await self._world.patch({"metadata": {"annotations": {"touched": str(self._chance.random())}}})

    async def _a_worker(self) -> str:
        names = await self._world.workers()
        return self._chance.choice(names or [f"{NAME}-worker-0"])


async def _pods_live(world: World) -> None:
    while True:
        await world.everything_moves()
        await asyncio.sleep(0.01)


async def _calm(world: World, size: int) -> None:
    """The workers there are, the workers listed, and what is said of them are one."""

    async def picture() -> tuple[list[str], list[str], str, str]:
        status = await world.status()
        return await world.workers(), await world.listed(), status.get("state", ""), status.get("workers", "")

    def calm(found: tuple[list[str], list[str], str, str]) -> bool:
        workers, listed, state, told = found
        return sorted(listed) == workers and len(workers) == size and (state, told) == ("Running", f"{size}/{size}")

    await world.until(picture, calm)
