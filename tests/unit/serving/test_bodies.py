# SPDX-License-Identifier: Apache-2.0
"""The room for request bodies: shared by all users, and by no user used up."""

from __future__ import annotations

import asyncio

import pytest

from springtide.serving.bodies import FREE, OF_ONE_USER, TOGETHER, WAITING, Bodies, NoRoom


async def holding(bodies: Bodies, user: str, size: int, until: asyncio.Event) -> None:
    async with bodies.held(user, size):
        await until.wait()


@pytest.mark.looptime
async def test_a_user_waits_for_the_room_of_that_users_other_requests_alone() -> None:
    bodies, until = Bodies(), asyncio.Event()
    first = asyncio.create_task(holding(bodies, "mallory", OF_ONE_USER, until))
    await asyncio.sleep(0)
    second = asyncio.create_task(holding(bodies, "mallory", FREE + 1, until))
    async with asyncio.timeout(1), bodies.held("alice", OF_ONE_USER):
        assert not second.done()
    until.set()
    await asyncio.gather(first, second)


@pytest.mark.looptime
async def test_who_waits_for_too_long_is_told() -> None:
    bodies, until = Bodies(patience=5), asyncio.Event()
    task = asyncio.create_task(holding(bodies, "mallory", OF_ONE_USER, until))
    await asyncio.sleep(0)
    with pytest.raises(NoRoom):
        async with bodies.held("mallory", FREE + 1):
            raise AssertionError("there is no room")
    until.set()
    await task
    async with bodies.held("mallory", OF_ONE_USER):
        pass


@pytest.mark.looptime
async def test_only_so_many_requests_of_a_user_wait() -> None:
    bodies, until = Bodies(), asyncio.Event()
    tasks = [asyncio.create_task(holding(bodies, "mallory", OF_ONE_USER, until)) for _ in range(1 + WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(NoRoom):
        async with bodies.held("mallory", OF_ONE_USER):
            raise AssertionError("there is no room")
    until.set()
    await asyncio.gather(*tasks)


@pytest.mark.looptime
async def test_short_bodies_never_wait() -> None:
    bodies, until = Bodies(), asyncio.Event()
    users = [f"user-{number}" for number in range(TOGETHER // OF_ONE_USER)]
    tasks = [asyncio.create_task(holding(bodies, user, OF_ONE_USER, until)) for user in users]
    await asyncio.sleep(0)
    async with asyncio.timeout(1), bodies.held(users[0], FREE), bodies.held("alice", FREE):
        pass
    until.set()
    await asyncio.gather(*tasks)


@pytest.mark.looptime
async def test_a_waiting_request_that_is_given_up_leaves_nothing_behind() -> None:
    bodies, until = Bodies(), asyncio.Event()
    first = asyncio.create_task(holding(bodies, "mallory", OF_ONE_USER, until))
    await asyncio.sleep(0)
    given_up = asyncio.create_task(holding(bodies, "mallory", OF_ONE_USER, until))
    await asyncio.sleep(0)
    given_up.cancel()
    until.set()
    await asyncio.gather(first, given_up, return_exceptions=True)
    async with asyncio.timeout(1), bodies.held("mallory", OF_ONE_USER):
        pass


async def entering(bodies: Bodies, name: str, size: int, order: list[str], user: str = "") -> None:
    async with bodies.held(user or name, size):
        order.append(name)
        await asyncio.sleep(1)


@pytest.mark.looptime
async def test_a_large_body_is_not_overtaken_by_the_smaller_ones_of_its_user() -> None:
    bodies, order, tasks = Bodies(), list[str](), []
    for name, size in [("first", OF_ONE_USER // 2), ("large", OF_ONE_USER), ("small", FREE + 1), ("late", FREE + 1)]:
        tasks.append(asyncio.create_task(entering(bodies, name, size, order, user="alice")))
        await asyncio.sleep(0.1)
    await asyncio.gather(*tasks)
    assert order == ["first", "large", "small", "late"]


@pytest.mark.looptime
async def test_a_large_body_is_not_starved_by_many_users_with_smaller_ones() -> None:
    bodies, order, tasks = Bodies(), list[str](), []
    steps = [(f"user-{number}", OF_ONE_USER) for number in range(3)]
    steps += [("half", OF_ONE_USER // 2), ("large", OF_ONE_USER), ("small", FREE + 1)]
    for name, size in steps:
        tasks.append(asyncio.create_task(entering(bodies, name, size, order)))
        await asyncio.sleep(0.1)
    await asyncio.gather(*tasks)
    assert order == [name for name, _ in steps]


@pytest.mark.looptime
async def test_who_gives_up_lets_those_behind_go_on() -> None:
    bodies, until, order = Bodies(), asyncio.Event(), list[str]()
    first = asyncio.create_task(holding(bodies, "alice", OF_ONE_USER // 2, until))
    await asyncio.sleep(0)
    large = asyncio.create_task(holding(bodies, "alice", OF_ONE_USER, until))
    await asyncio.sleep(0)
    small = asyncio.create_task(entering(bodies, "small", FREE + 1, order, user="alice"))
    await asyncio.sleep(0)
    assert not order
    large.cancel()
    async with asyncio.timeout(2):
        await small
    until.set()
    await asyncio.gather(first, large, return_exceptions=True)
    async with asyncio.timeout(1), bodies.held("alice", OF_ONE_USER):
        pass


@pytest.mark.looptime
async def test_a_body_that_turns_out_to_be_short_makes_room() -> None:
    bodies = Bodies()
    async with bodies.held("alice", OF_ONE_USER) as place:
        bodies.shrink(place, FREE)
        async with asyncio.timeout(1), bodies.held("alice", OF_ONE_USER - FREE):
            pass
    async with asyncio.timeout(1), bodies.held("alice", OF_ONE_USER):
        pass
