# SPDX-License-Identifier: Apache-2.0
"""Long work on the event loop is done in slices, which all tasks with long work share."""

from __future__ import annotations

import asyncio

import pytest

from springtide.event_loop import slices
from springtide.event_loop.slices import Slices, in_slices

TASKS, ITEMS = 7, 20


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every item uses up its slice."""
    monkeypatch.setattr(slices, "SLICE", 0.0)


@pytest.mark.usefixtures("no_time")
async def test_one_turn_of_the_loop_runs_one_slice_however_many_tasks_have_long_work() -> None:
    begun, slices, most = set[int](), 0, 0

    async def count() -> None:
        nonlocal slices, most
        while True:
            most, slices = max(most, slices), 0
            await asyncio.sleep(0)

    async def work(task: int) -> list[int]:
        nonlocal slices
        done = []
        async for item in in_slices(range(ITEMS)):
            slices += task in begun
            begun.add(task)
            done.append(item)
        return done

    counting = asyncio.create_task(count())
    found = await asyncio.gather(*map(work, range(TASKS)))
    counting.cancel()
    assert found == [list(range(ITEMS))] * TASKS
    assert most == 1


@pytest.mark.usefixtures("no_time")
async def test_a_task_that_is_cancelled_while_it_waits_holds_up_no_other() -> None:
    async def work() -> int:
        return len([item async for item in in_slices(range(ITEMS))])

    tasks = [asyncio.create_task(work()) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.wait(tasks)
    assert await tasks[0] == await tasks[2] == ITEMS
    assert tasks[1].cancelled()


async def test_short_work_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE", 60.0)
    mine = Slices()
    waiting = mine.next()
    with pytest.raises(StopIteration):
        waiting.send(None)
