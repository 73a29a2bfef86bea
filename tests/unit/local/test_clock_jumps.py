# SPDX-License-Identifier: Apache-2.0
"""Clocks that jump by an hour, forwards and back: leases, heartbeats, tokens and times to live.

The clocks are passed in. What only measures how long something lasts must not read the wall clock at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube.client import Client
from springtide.kube.leader import LeaderElector, Terms
from springtide.kube.request import Request, Response
from springtide.kube.resources import Key, Obj
from springtide.local.access import token_requests
from springtide.local.access.jws import SigningKey
from springtide.local.access.tokens import ServiceAccountTokens
from springtide.local.controller_manager.batch.job_cleanup import time_left
from springtide.local.controller_manager.nodes.heartbeats import Heartbeats, Patience
from springtide.local.controller_manager.timestamps import stamp
from springtide.local.kubelet.tokens import Tokens, Wanted

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JUMPS = pytest.mark.parametrize("hours", [1, -1])
POD: Obj = {"metadata": {"namespace": "team", "name": "p", "uid": "u"}, "spec": {}}
LEASE = Key("kube-system", "test")


class Clock:
    """A wall clock that can be set."""

    def __init__(self) -> None:
        self.moment = NOW

    def jump(self, hours: int) -> None:
        self.moment += timedelta(hours=hours)

    def __call__(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


# Leases


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api)


@JUMPS
@pytest.mark.looptime
async def test_a_leader_stays_the_only_one_whoever_has_the_wrong_time(client: Client, clock: Clock, hours: int) -> None:
    """The clock of the leader, and that of the other candidate, jump while both run."""
    led: list[str] = []

    async def lead(name: str) -> None:
        led.append(name)
        await asyncio.sleep(1e9)

    def running(each: Clock) -> Callable[[], datetime]:
        return lambda: each() + timedelta(seconds=asyncio.get_running_loop().time())

    clocks = {"a": clock, "b": Clock()}
    electors = {name: LeaderElector(client, LEASE, name, Terms(), running(each)) for name, each in clocks.items()}
    tasks = []
    for name, elector in electors.items():
        tasks.append(asyncio.create_task(elector.run(lambda name=name: lead(name))))  # type: ignore[misc]
        await asyncio.sleep(1)
    for each in clocks.values():
        each.jump(hours)
        await asyncio.sleep(120)
        assert (led, electors["a"].leading, electors["b"].leading) == (["a"], True, False)
    for task in tasks:
        task.cancel()
        await asyncio.sleep(30)
    assert led == ["a", "b"]
    await asyncio.gather(*tasks, return_exceptions=True)


# Heartbeats


@JUMPS
def test_a_node_whose_clock_jumps_is_not_silent(clock: Clock, hours: int) -> None:
    """Heartbeats count when they change; a time in the past is a change, too."""
    heartbeats = Heartbeats(Patience())
    heartbeats.heard("a", stamp(clock()), 0.0)
    clock.jump(hours)
    heartbeats.heard("a", stamp(clock()), 30.0)
    assert not heartbeats.is_silent("a", 60.0, new=False)
    assert heartbeats.is_silent("a", 80.0, new=False)


# Tokens


class TokenServer:
    """The subresource `token`, with the clock of the server."""

    def __init__(self, tokens: ServiceAccountTokens, clock: Clock) -> None:
        self._tokens, self._clock = tokens, clock

    async def send(self, request: Request) -> Response:
        body = msgspec.json.decode(request.body)
        answered = token_requests.answer(body, "team", "default", self._tokens, _found, self._clock())
        return Response(201, {}, msgspec.json.encode(answered))

    def stream(self, request: Request) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        return None


def _found(resource: str, namespace: str, name: str) -> Obj:
    return {"metadata": {"namespace": namespace, "name": name, "uid": "u"}, "spec": {"serviceAccountName": "default"}}


@JUMPS
@pytest.mark.parametrize("seconds", [600, 3607, 24 * 3600])
async def test_a_pod_has_a_valid_token_as_soon_as_its_agent_looks(
    tmp_path: Path, clock: Clock, hours: int, seconds: int
) -> None:
    """Agents look every few seconds. A token of ten minutes has expired an hour later, and is not valid yet before."""
    issued = ServiceAccountTokens(SigningKey(tmp_path / "sa.key"), lambda *_: "u", clock=clock.seconds)
    held = Tokens(Client(TokenServer(issued, clock)), clock.seconds)
    wanted = Wanted.by(POD, {"expirationSeconds": seconds})
    before = await held.get(wanted)
    assert issued.authenticate(before) is not None
    clock.jump(hours)
    still_valid = issued.authenticate(before) is not None
    assert still_valid == (hours > 0 and seconds > 600)
    assert still_valid or held.due() == {"u"}
    assert issued.authenticate(await held.get(wanted)) is not None


# Times to live


@JUMPS
def test_the_time_to_live_of_a_job_follows_the_new_time(clock: Clock, hours: int) -> None:
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": stamp(clock())}
    job: Obj = {"metadata": {}, "spec": {"ttlSecondsAfterFinished": 1800}, "status": {"conditions": [condition]}}
    assert time_left(job, clock()) == 1800
    clock.jump(hours)
    assert time_left(job, clock()) == 1800 - 3600 * hours
