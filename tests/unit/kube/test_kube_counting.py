# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.counting import NO_ANSWER, WATCH, Counted
from springtide.kube.request import EVERYTHING, Request, Response, watch
from springtide.kube.resources import PODS, Key


class Silent(FakeApi):
    async def send(self, request: Request) -> Response:
        raise errors.Unreachable("nobody there")


async def test_every_request_is_told_of_with_its_code(api: FakeApi) -> None:
    told: list[tuple[str, str]] = []
    client = Client(Counted(api, lambda *each: told.append(each)))
    await client.create(PODS, PODS.describe(Key("a", "p")))
    await client.get(PODS, Key("a", "p"))
    assert await client.find(PODS, Key("a", "q")) is None
    assert [verb for verb, _ in told] == ["POST", "GET", "GET"]
    assert told[-1] == ("GET", "404")


async def test_no_answer_is_told_of_too() -> None:
    told: list[tuple[str, str]] = []
    client = Client(Counted(Silent(), lambda *each: told.append(each)))
    with pytest.raises(errors.Unreachable):
        await client.get(PODS, Key("a", "p"))
    assert told == [("GET", NO_ANSWER)]


async def test_a_watch_is_told_of_when_it_ends(api: FakeApi) -> None:
    told: list[tuple[str, str]] = []
    api.put(PODS, Key("a", "p"))
    lines = Counted(api, lambda *each: told.append(each)).stream(watch(PODS, EVERYTHING, "0", 60, initial_events=True))
    await anext(lines)
    assert told == []
    await lines.aclose()
    assert told == [(WATCH, "200")]


async def test_a_watch_that_is_refused_or_gets_no_answer_is_told_of_as_such(api: FakeApi) -> None:
    told: list[tuple[str, str]] = []
    counted = Counted(api, lambda *each: told.append(each))
    api.watch_list = False
    with pytest.raises(errors.Invalid):
        await anext(counted.stream(watch(PODS, EVERYTHING, "", 60, initial_events=True)))
    api.offline = True
    with pytest.raises(errors.Unreachable):
        await anext(counted.stream(watch(PODS, EVERYTHING, "0", 60)))
    assert told == [(WATCH, "422"), (WATCH, NO_ANSWER)]
