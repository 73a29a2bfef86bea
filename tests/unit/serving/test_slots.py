# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio

import pytest

from springtide.serving.slots import Limits, Slot, Slots

LIMITS = Limits(connections=4, unauthenticated=2, free_head=10, head_budget=100, grace=2.0)


class Entered:
    """Slots, and which of them were closed."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.slots = Slots(limits)
        self.closed: list[int] = []
        self._count = 0

    def enter(self) -> Slot:
        number = self._count
        self._count += 1
        return self.slots.enter(lambda: self.closed.append(number))


@pytest.mark.looptime
async def test_newcomers_wait_until_the_oldest_without_credentials_had_its_time() -> None:
    entered, loop = Entered(), asyncio.get_running_loop()
    entered.enter(), entered.enter()
    start = loop.time()
    await entered.slots.room()
    assert (entered.closed, loop.time() - start) == ([0], 2.0)


@pytest.mark.looptime
async def test_room_that_is_made_is_taken_at_once() -> None:
    entered, loop = Entered(), asyncio.get_running_loop()
    first, _ = entered.enter(), entered.enter()
    loop.call_later(0.5, lambda: entered.slots.authenticate(first, "jane"))
    start = loop.time()
    await entered.slots.room()
    assert (entered.closed, loop.time() - start) == ([], 0.5)


@pytest.mark.looptime
async def test_connections_with_credentials_are_never_closed_for_newcomers() -> None:
    entered = Entered()
    for user in ("a", "b", "c", "d"):
        assert entered.slots.authenticate(entered.enter(), user)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(entered.slots.room(), 1000)
    assert entered.closed == []


async def test_no_user_has_more_than_half_of_the_places() -> None:
    entered = Entered()
    assert [entered.slots.authenticate(entered.enter(), "jane") for _ in range(3)] == [True, True, False]
    slot = entered.enter()
    assert entered.slots.authenticate(slot, "joe")
    assert entered.slots.authenticate(slot, "joe")


async def test_a_place_that_is_given_back_counts_for_nobody() -> None:
    entered = Entered()
    for _ in range(10):
        slot = entered.enter()
        assert entered.slots.hold(slot, 110)
        assert entered.slots.authenticate(slot, "jane")
        entered.slots.leave(slot)
        entered.slots.leave(slot)
    assert entered.slots.unauthenticated == 0


@pytest.mark.looptime
async def test_long_heads_share_a_budget_and_the_oldest_goes_first() -> None:
    entered = Entered(Limits(unauthenticated=9, free_head=10, head_budget=100, grace=2.0))
    first, second = entered.enter(), entered.enter()
    assert entered.slots.hold(first, 90)
    assert not entered.slots.hold(second, 40)
    assert entered.slots.hold(second, 10)
    await asyncio.sleep(2.5)
    assert entered.slots.hold(second, 40)
    assert entered.closed == [0]


async def test_heads_with_credentials_have_a_budget_of_their_own() -> None:
    entered = Entered()
    first, second = entered.enter(), entered.enter()
    assert entered.slots.hold(first, 110)
    assert entered.slots.authenticate(second, "jane")
    assert entered.slots.hold(second, 110)
    entered.slots.release(second)
    assert entered.slots.hold(second, 110)
