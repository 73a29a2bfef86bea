# SPDX-License-Identifier: Apache-2.0
"""What a kind costs that the operator serves and nobody uses."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import pytest
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import World
from tests.integration.patience import until

from springtide.controllers import prerequisites
from springtide.controllers.operator import Operator, chosen
from springtide.controllers.options import Options
from springtide.jobs.registry import SERVED
from springtide.kube.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATIENCE = 15.0
IDLE = 0.5
MEGABYTE = 1_000_000
ROUNDS = 5
KINDS = tuple(each.kind for each in SERVED)


@asynccontextmanager
async def operating(world: World, kinds: tuple[str, ...]) -> AsyncIterator[Wire]:
    """An operator whose caches are filled."""
    wire = Wire(world.server.transport())
    options = Options(namespace=world.namespace, leader_elect=False, kinds=kinds)
    served = await prerequisites.defined(Client(wire), chosen(kinds), named=True)
    operator = Operator(Client(wire), options, served)
    task = asyncio.create_task(operator.run())

    async def ready() -> bool:
        return operator.ready()

    try:
        await until(ready, bool, PATIENCE)
        yield wire
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await wire.close()


@contextmanager
def timers_of_controllers() -> Iterator[list[str]]:
    """The names of tasks of the operator that set a timer; those of watches are not among them."""
    loop, found = asyncio.get_running_loop(), list[str]()
    call_at = loop.call_at

    def noted(when: float, callback: Any, *arguments: Any, **more: Any) -> asyncio.TimerHandle:
        task = asyncio.current_task()
        name = task.get_name() if task is not None else ""
        if " worker " in name or name.startswith(("controller", "events", "inquiries")):
            found.append(name)
        return call_at(when, callback, *arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "call_at", noted)
        yield found


async def test_a_kind_without_jobs_has_no_timer_and_sends_nothing_but_its_watches(world: World) -> None:
    with timers_of_controllers() as timers:
        async with operating(world, ()) as wire:
            sent = len(wire.reads)
            await asyncio.sleep(IDLE)
            assert wire.reads[sent:] == []
            assert wire.writes == []
            assert timers == []


async def test_a_timer_would_be_noticed() -> None:
    with timers_of_controllers() as timers:
        await asyncio.create_task(asyncio.sleep(0.01), name="MPIJob worker 0")
    assert timers == ["MPIJob worker 0"]


async def test_a_kind_adds_the_watches_of_its_jobs_and_scalers_and_of_what_it_alone_creates(world: World) -> None:
    async with operating(world, ("MPIJob",)) as one:
        pass
    async with operating(world, ()) as all_:
        pass
    added = {"horizontalpodautoscalers", "pytorchjobs", "tfjobs", "trainingjobs", "scaleins", "scaleouts"}
    assert {*all_.streams} - {*one.streams} == added
    assert len({all_.streams.count(each) for each in all_.streams}) == 1  # two where a server refuses streamed lists


async def test_a_kind_without_jobs_takes_less_than_a_megabyte(world: World) -> None:
    """The middle one of several rounds counts: the first also takes what is created once per process, such as decoders,
    and other tasks of this process keep or release memory meanwhile."""
    tracemalloc.start()
    try:
        one, every = [
            statistics.median_low([await _taken(world, kinds) for _ in range(ROUNDS)]) for kinds in (KINDS[:1], KINDS)
        ]
    finally:
        tracemalloc.stop()
    assert (every - one) / (len(KINDS) - 1) < MEGABYTE


async def _taken(world: World, kinds: tuple[str, ...]) -> int:
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    async with operating(world, kinds):
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    return after - before
