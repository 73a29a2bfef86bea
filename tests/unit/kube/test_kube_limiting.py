# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube.client import Client
from springtide.kube.limiting import Bucket, Limited
from springtide.kube.request import EVERYTHING, watch
from springtide.kube.resources import LEASES, PODS, Key


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    bucket = Bucket(qps=2, burst=3)
    assert [bucket.take(10.0) for _ in range(5)] == [0, 0, 0, 0.5, 1.0]


def test_tokens_come_back_with_time_but_never_more_than_the_burst() -> None:
    bucket = Bucket(qps=2, burst=3)
    for _ in range(3):
        bucket.take(0.0)
    assert bucket.take(0.5) == 0
    assert bucket.take(0.5) == 0.5
    assert [bucket.take(1000.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_without_a_burst_two_seconds_worth_goes_at_once() -> None:
    bucket = Bucket(qps=0.7)
    assert [bucket.take(0.0) > 0 for _ in range(3)] == [False, False, True]


def test_a_clock_that_steps_back_gives_nothing_away() -> None:
    bucket = Bucket(qps=1, burst=1)
    assert bucket.take(10.0) == 0
    assert bucket.take(5.0) == 1.0
    assert bucket.take(10.0) == 2.0


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (float("nan"), 1), (float("inf"), 1), (1, -1)])
def test_a_limit_that_cannot_be_meant_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="a request limit needs"):
        Bucket(qps, burst)


@pytest.mark.looptime
async def test_requests_wait_for_their_turn_in_the_order_they_came(api: FakeApi) -> None:
    api.put(PODS, Key("a", "p"))
    client, loop = Client(Limited(api, Bucket(qps=10, burst=1))), asyncio.get_running_loop()
    done: list[tuple[int, float]] = []

    async def ask(number: int) -> None:
        await client.get(PODS, Key("a", "p"))
        done.append((number, round(loop.time() - start, 3)))

    start = loop.time()
    await asyncio.gather(*(ask(number) for number in range(4)))
    assert done == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3)]


@pytest.mark.looptime
async def test_watches_do_not_wait(api: FakeApi) -> None:
    bucket, loop = Bucket(qps=0.001, burst=1), asyncio.get_running_loop()
    bucket.take(loop.time())
    api.put(PODS, Key("a", "p"))
    start = loop.time()
    lines = Limited(api, bucket).stream(watch(PODS, EVERYTHING, "0", 60, initial_events=True))
    await anext(lines)
    await lines.aclose()
    assert loop.time() - start < 1


@pytest.mark.looptime
async def test_leases_do_not_wait(api: FakeApi) -> None:
    bucket, loop = Bucket(qps=0.001, burst=1), asyncio.get_running_loop()
    bucket.take(loop.time())
    start = loop.time()
    await Client(Limited(api, bucket)).find(LEASES, Key("a", "operator"))
    assert loop.time() - start < 1
