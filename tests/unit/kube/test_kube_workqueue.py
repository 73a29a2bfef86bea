# SPDX-License-Identifier: Apache-2.0
"""The guarantees in the docstring of `workqueue`, one by one."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.kube.fake_api import settle

from springtide.kube.workqueue import PURGE, Backoff, DelayingQueue, Pace, Queue, ShutDown, WorkQueue

pytestmark = pytest.mark.looptime


async def test_a_key_added_many_times_is_taken_once() -> None:
    queue: Queue[str] = Queue()
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_added_while_a_worker_has_it_comes_back_only_when_that_worker_is_done() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert len(queue) == 1
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_waiting_workers_each_get_a_key() -> None:
    queue: Queue[int] = Queue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()
    for key in range(3):
        queue.add(key)
    assert sorted(await asyncio.gather(*workers)) == [0, 1, 2]


async def test_a_worker_cancelled_at_the_moment_it_is_woken_passes_the_key_on() -> None:
    queue: Queue[str] = Queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await settle()
    queue.add("a")
    first.cancel()
    assert await second == "a"


async def test_a_worker_cancelled_while_it_waits_is_not_missed() -> None:
    queue: Queue[str] = Queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await settle()
    first.cancel()
    await settle()
    queue.add("a")
    assert await second == "a"


async def test_after_shut_down_waiting_keys_are_handed_out_and_then_get_raises() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.shut_down()
    queue.add("b")
    assert await queue.get() == "a"
    with pytest.raises(ShutDown):
        await queue.get()


async def test_shut_down_without_draining_drops_what_waits_and_what_was_added_to_taken_keys() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b")
    taken = await queue.get()
    queue.add(taken)
    queue.shut_down(drain=False)
    queue.done(taken)
    with pytest.raises(ShutDown):
        await queue.get()


async def test_shut_down_wakes_every_waiting_worker() -> None:
    queue: Queue[str] = Queue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()
    queue.shut_down()
    answers = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ShutDown] * 3


async def test_delayed_keys_come_when_due_and_in_that_order() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    loop = asyncio.get_running_loop()
    start = loop.time()
    queue.add_after("late", 3600)
    queue.add_after("soon", 5)
    queue.add_after("now", 0)
    arrivals = [(await queue.get(), round(loop.time() - start)) for _ in range(3)]
    assert arrivals == [("now", 0), ("soon", 5), ("late", 3600)]


@pytest.mark.parametrize("delays", [(10, 3), (3, 10)])
async def test_of_several_delays_the_earliest_wins(delays: tuple[float, float]) -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    start = asyncio.get_running_loop().time()
    for delay in delays:
        queue.add_after("a", delay)
    await queue.get()
    queue.done("a")
    assert asyncio.get_running_loop().time() - start == pytest.approx(3)
    await asyncio.sleep(20)
    assert len(queue) == 0
    assert queue.delayed == 0


async def test_a_delay_does_not_hold_back_a_plain_add() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("a", 60)
    queue.add("a")
    assert len(queue) == 1


async def test_shut_down_drops_what_is_not_due() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("a", 60)
    queue.shut_down()
    queue.add_after("b", 60)
    assert queue.delayed == 0
    with pytest.raises(ShutDown):
        await queue.get()


async def test_retries_of_a_key_double_up_to_the_limit_and_start_over_after_forget() -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(base=1, limit=5))
    assert [queue.retry("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    assert queue.retry("b") == 1
    assert queue.failures("a") == 5
    queue.forget("a")
    assert queue.retry("a") == 1


async def test_a_key_may_fail_thousands_of_times() -> None:
    assert Backoff(base=0.005, limit=60).delay(100_000) == 60


async def test_a_retried_key_comes_back_after_its_delay() -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(base=8))
    start = asyncio.get_running_loop().time()
    queue.retry("a")
    assert await queue.get() == "a"
    assert asyncio.get_running_loop().time() - start == pytest.approx(8)


async def test_taking_keys_gives_everything_else_in_the_loop_a_turn() -> None:
    queue: Queue[str] = Queue()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    for _ in range(50):
        queue.add("a")
        queue.done(await queue.get())
    assert turns >= 50
    task.cancel()


async def test_a_key_that_always_comes_back_is_taken_in_a_burst_and_then_at_a_rate() -> None:
    queue: WorkQueue[str] = WorkQueue(pace=Pace(burst=5, rate=2))
    loop = asyncio.get_running_loop()
    start = loop.time()
    queue.add("a")
    times = []
    for _ in range(9):
        key = await queue.get()
        times.append(round(loop.time() - start, 3))
        queue.add(key)
        queue.done(key)
    assert times == [0, 0, 0, 0, 0, 0.5, 1, 1.5, 2]


async def test_a_key_that_is_held_back_is_neither_lost_nor_in_the_way_of_others() -> None:
    queue: WorkQueue[str] = WorkQueue(pace=Pace(burst=1, rate=0.1))
    for _ in range(2):
        queue.add("a")
        queue.add("b")
        queue.done(await queue.get())
        queue.done(await queue.get())
        assert (len(queue), queue.delayed) == (0, 0)
        queue.add("a")
        queue.add("a")
        assert (len(queue), queue.delayed) == (0, 1)
        queue.add("c")
        queue.done(await queue.get())
        start = asyncio.get_running_loop().time()
        assert await queue.get() == "a"
        assert asyncio.get_running_loop().time() - start == pytest.approx(10)
        queue.done("a")
        await asyncio.sleep(100)  # whoever rests has the whole burst again


async def test_the_pace_of_keys_that_rest_is_forgotten() -> None:
    queue: WorkQueue[int] = WorkQueue()
    for start in range(0, 8 * PURGE, PURGE):
        for number in range(start, start + PURGE):
            queue.add(number)
        await asyncio.sleep(1)
    assert len(queue._rested) <= 2 * PURGE


async def test_shut_down_drops_a_key_that_is_held_back() -> None:
    queue: WorkQueue[str] = WorkQueue(pace=Pace(burst=1, rate=0.1))
    queue.add("a")
    key = await queue.get()
    queue.add(key)
    queue.shut_down()
    queue.done(key)
    with pytest.raises(ShutDown):
        await queue.get()
