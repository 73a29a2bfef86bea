# SPDX-License-Identifier: Apache-2.0
"""Users change their minds, pods die and operators with them, in any order: in the end all jobs are as they are wanted.

Each storm goes over an MPIJob, a TrainingJob with its scalers and two jobs whose replicas keep their names.
SPRINGTIDE_STORM_SEEDS=0-199 chooses the storms.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.crash_jobs import named_jobs, named_verdict, scaler_verdict, training_jobs, verdict
from tests.crash_jobs.jobs import Wanted
from tests.integration.controllers import chronicle
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

from springtide.kube import errors
from springtide.kube.resources import CONFIGMAPS, PODS, SERVICES, Obj, Resource

pytestmark = pytest.mark.asyncio(loop_scope="session")

SWIFT = {f"springtide.dev/{name}-seconds": "0" for name in ("drain", "settle", "start")}
COMMAND = (*ELASTIC[:2], "1", *ELASTIC[3:])
"""Of a launcher that starts with any number of workers."""
STEPS = 30
ORIGINAL = 2
"""Workers that may fail by themselves: after a failure in its place a worker is replaced only after a while."""
SHUT_DOWN = {"reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown."}
"""The one failure after which a replica that keeps its name is created again at once."""
RESTARTS = 3
"""The most restarts in place of all replicas of a job: fewer than its limit."""


def _seeds() -> range:
    first, _, last = os.environ.get("SPRINGTIDE_STORM_SEEDS", "0-3").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("seed", _seeds())
async def test_after_a_storm_all_jobs_are_as_wanted(world: World, seed: int) -> None:
    chance = random.Random(seed)
    over = asyncio.Event()
    mpi, training = MpiStorm(world, chance), TrainingStorm(world, chance)
    drawn = [draw(chance, Path("/shared")) for draw in chance.sample(named_jobs.DRAWS, 2)]
    named = [NamedStorm(world, chance, wanted) for wanted in drawn]
    storms: list[MpiStorm | TrainingStorm | NamedStorm] = [mpi, training, training, *named]
    async with (
        chronicle.kept(world.client, world.namespace) as told,
        meanwhile(_pods_live(world), _operators(world, chance, over)),
    ):
        await world.submit(job(chance.choice([V1, V2]), command=COMMAND, annotations=SWIFT))
        await training.submit()
        for each in named:
            await each.submit()
        for _ in range(STEPS):
            await chance.choice(storms).step()
            await asyncio.sleep(chance.choice([0, 0, 0.02, 0.1, 0.4]))
        over.set()
        await mpi.calm()
        await training.calm()
        for each in named:
            await each.calm()
            await each.finish()
    told.verify()
    told.verify_scalers(training.wanted)


async def _operators(world: World, chance: random.Random, over: asyncio.Event) -> None:
    """One after the other; the one after the storm lives."""
    while True:
        left = None if over.is_set() else chance.randint(1, 24)
        heard = chance.random() < 0.5
        wire = await world.start(Wire(world.server.transport(), left, hears_the_last=heard))
        await wire.cut.wait()
        await world.kill(wire)


class MpiStorm:
    """Over an MPIJob."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._size = 2
        self._world, self._chance = world, chance
        self._steps: list[Callable[[], Awaitable[None]]] = [
            *([self._resize] * 3),
            self._delete_worker,
            self._fail_worker,
            self._touch,
            self._point,
        ]

    async def step(self) -> None:
        # Whatever it was about may be gone.
        with suppress(errors.NotFound, errors.Conflict, errors.Invalid):
            await self._chance.choice(self._steps)()

    async def _resize(self) -> None:
        self._size = self._chance.randint(1, 4)
        await self._world.resize(self._size)

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

    async def calm(self) -> None:
        """The workers there are, the workers listed, and what is said of them are one."""
        world, size = self._world, self._size

        async def picture() -> tuple[list[str], list[str], str, str]:
            status = await world.status()
            return await world.workers(), await world.listed(), status.get("state", ""), status.get("workers", "")

        def calm(found: tuple[list[str], list[str], str, str]) -> bool:
            workers, listed, state, told = found
            return sorted(listed) == workers and len(workers) == size and (state, told) == ("Running", f"{size}/{size}")

        await world.until(picture, calm)


class TrainingStorm:
    """Over a TrainingJob, which is resized by its spec and by scalers that come, wait and are cancelled."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.wanted = _swift(training_jobs.attached(chance, Path("/shared")))
        self._world, self._chance, self._scalers = world, chance, 0
        self._steps: list[Callable[[], Awaitable[None]]] = [
            *([self._scale_out] * 3),
            *([self._scale_in] * 3),
            self._cancel,
            self._resize,
            self._delete_worker,
            self._fail_worker,
        ]

    async def submit(self) -> None:
        await self._world.submit_wanted(self.wanted)

    async def step(self) -> None:
        # Whatever it was about may be gone.
        with suppress(errors.NotFound, errors.Conflict, errors.Invalid):
            await self._chance.choice(self._steps)()

    async def _scale_out(self) -> None:
        self._scalers += 1
        await self._create(*training_jobs.scale_out(self.wanted.name, self._number()))

    async def _scale_in(self) -> None:
        self._scalers += 1
        workers = sorted(await self._workers())
        worker = self._chance.choice(workers) if workers else None
        await self._create(*training_jobs.scale_in(self.wanted.name, self._number(), worker))

    def _number(self) -> int:
        """Higher for every scaler."""
        return self._scalers * 6 + self._chance.randrange(6)

    async def _create(self, resource: Resource, scaler: Obj) -> None:
        metadata = {**scaler["metadata"], "namespace": self._world.namespace}
        await self._world.client.create(resource, {**scaler, "metadata": metadata})

    async def _cancel(self) -> None:
        open_ = [
            (resource, name)
            for resource, name, each in await self._all_scalers()
            if scaler_verdict.phase(each) not in scaler_verdict.ENDED
        ]
        if open_:
            await self._world.delete(*self._chance.choice(open_))

    async def _resize(self) -> None:
        body = self.wanted.resized(self._chance.randint(1, 4))
        await self._world.client.patch(self.wanted.resource, self._world.key(self.wanted.name), body)

    async def _delete_worker(self) -> None:
        if workers := sorted(await self._workers()):
            await self._world.delete(PODS, self._chance.choice(workers))

    async def _fail_worker(self) -> None:
        workers = sorted(await self._workers())
        if first := [name for name in workers if int(name.rpartition("-")[2]) < ORIGINAL]:
            await self._world.kubelet.fail(self._chance.choice(first))

    async def calm(self) -> None:
        """All scalers have ended, and the workers there are, the workers listed and the size in the spec are one."""

        async def lacks() -> list[str]:
            world, wanted = self._world, self.wanted
            job, scalers = (
                await world.get(wanted.resource, wanted.name),
                [each for *_, each in await self._all_scalers()],
            )
            pods = list((await world.all_of(PODS, f"springtide.dev/job={wanted.name}")).values())
            config = await world.find(CONFIGMAPS, wanted.config)
            size = wanted.run(wanted.size_of(job))
            return [
                *scaler_verdict.unended(scalers),
                *scaler_verdict.left_of(scalers, pods),
                *verdict.lacking(job, pods, config, size),
            ]

        left = await self._world.until(lacks, lambda found: not found)
        assert not left

    async def _workers(self) -> dict[str, Obj]:
        found = await self._world.all_of(PODS, f"springtide.dev/job={self.wanted.name},springtide.dev/role=Worker")
        return {name: pod for name, pod in found.items() if verdict.is_alive(pod)}

    async def _all_scalers(self) -> list[tuple[Resource, str, Obj]]:
        return [
            (resource, name, {**each, "kind": resource.kind})
            for resource in training_jobs.SCALERS
            for name, each in (await self._world.all_of(resource)).items()
        ]


def _swift(wanted: Wanted) -> Wanted:
    metadata = wanted.manifest["metadata"]
    return replace(wanted, manifest={**wanted.manifest, "metadata": {**metadata, "annotations": SWIFT}})


class NamedStorm:
    """Over a job whose replicas keep their names."""

    def __init__(self, world: World, chance: random.Random, wanted: Wanted) -> None:
        self._world, self._chance, self._wanted = world, chance, wanted
        self._size = wanted.size
        self._restarts = 0
        self._steps: list[Callable[[], Awaitable[None]]] = [
            *([self._resize] * 3),
            self._delete,
            self._shut_down,
            self._restart_in_place,
            self._succeed,
            self._suspend,
            self._resume,
        ]

    async def submit(self) -> None:
        await self._world.submit_wanted(self._wanted)

    async def step(self) -> None:
        # Whatever it was about may be gone.
        with suppress(errors.NotFound, errors.Conflict, errors.Invalid):
            await self._chance.choice(self._steps)()

    async def _resize(self) -> None:
        size = self._chance.randint(1, 5)
        await self._patch({self._wanted.specs: {"Worker": {"replicas": size}}})
        self._size = size

    async def _delete(self) -> None:
        """Any pod, also one that has succeeded."""
        if pods := await self._pods():
            await self._world.delete(PODS, self._chance.choice(pods)["metadata"]["name"])

    async def _shut_down(self) -> None:
        if name := await self._one():
            await self._world.kubelet.fail(name, 143, **SHUT_DOWN)

    async def _restart_in_place(self) -> None:
        name = await self._one()
        if name and self._wanted.in_place and self._restarts < RESTARTS:
            self._restarts += 1
            await self._world.kubelet.restart(name, self._restarts)

    async def _succeed(self) -> None:
        """A worker whose success is not the job's."""
        name = await self._one("Worker")
        decides = self._wanted.decides == "Worker"
        if not name or self._wanted.leader == "Worker" or (decides and name.endswith("-0")):
            return
        await self._world.kubelet.succeed(name)
        if self._chance.random() < 0.5:
            await asyncio.sleep(0.1)
            await self._world.delete(PODS, name)

    async def _suspend(self) -> None:
        await self._patch({"runPolicy": {"suspend": True}})

    async def _resume(self) -> None:
        await self._patch({"runPolicy": {"suspend": False}})

    async def calm(self) -> None:
        """Nothing is lacking."""
        await self._resume()
        size = self._wanted.run(self._size)

        async def lacks() -> list[str]:
            world, wanted = self._world, self._wanted
            found = await world.get(wanted.resource, wanted.name)
            services = list((await world.all_of(SERVICES, self._labels())).values())
            config = await world.find(CONFIGMAPS, wanted.config)
            return list(named_verdict.lacking(wanted, found, await self._pods(), services, config, size))

        left = await self._world.until(lacks, lambda found: not found)
        assert not left

    async def finish(self) -> None:
        """It ends with the role that decides, and what is to be cleaned is cleaned."""
        world, wanted = self._world, self._wanted
        await world.kubelet.succeed(f"{wanted.name}-{wanted.decides.lower()}-0")

        async def lacks() -> list[str]:
            found = await world.get(wanted.resource, wanted.name)
            return list(verdict.unfinished(wanted, found, await self._pods()))

        await world.until(lacks, lambda found: not found)

    async def _one(self, role: str = "") -> str:
        """The name of a replica that runs; empty: none does."""
        pods = [pod for pod in await self._pods() if verdict.is_alive(pod) and verdict.phase(pod) == "Running"]
        names = [pod["metadata"]["name"] for pod in pods if role in ("", verdict.role(pod))]
        return self._chance.choice(names) if names else ""

    async def _pods(self) -> list[Obj]:
        return list((await self._world.all_of(PODS, self._labels())).values())

    def _labels(self) -> str:
        return f"springtide.dev/job={self._wanted.name}"

    async def _patch(self, spec: Obj) -> None:
        key = self._world.key(self._wanted.name)
        await self._world.client.patch(self._wanted.resource, key, {"spec": spec})


async def _pods_live(world: World) -> None:
    while True:
        await world.everything_moves()
        await asyncio.sleep(0.01)
