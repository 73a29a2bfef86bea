# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.unit.kube.fake_api import FakeApi, status

from springtide.kube.client import Client
from springtide.kube.events import QUEUED, EventRecorder, reference_to
from springtide.kube.resources import NODES, PODS, Key

pytestmark = pytest.mark.looptime

POD = PODS.describe(Key("default", "p"))
POD["metadata"] |= {"uid": "u", "resourceVersion": "7"}


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0
        self.ticks = 0

    def __call__(self) -> int:
        self.ticks += 1  # no two events get the same name
        return int(self.seconds) * 10**9 + self.ticks


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(client: Client, clock: Clock) -> EventRecorder:
    return EventRecorder(client, "tester", "host-1", clock)


@asynccontextmanager
async def sending(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    yield
    await recorder.flush()
    task.cancel()
    await asyncio.wait((task,))


def written(api: FakeApi) -> list[dict[str, Any]]:
    return list(api.objects.values())


async def test_an_event_says_who_what_and_when(api: FakeApi, recorder: EventRecorder) -> None:
    async with sending(recorder):
        recorder.normal(POD, "Started", "it runs")
    (event,) = written(api)
    metadata = event.pop("metadata")
    assert metadata["namespace"] == "default"
    assert metadata["name"] == f"p.{1_800_000_000 * 10**9 + 1:x}"
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "p",
            "uid": "u",
            "resourceVersion": "7",
        },
        "type": "Normal",
        "reason": "Started",
        "message": "it runs",
        "source": {"component": "tester", "host": "host-1"},
        "reportingComponent": "tester",
        "reportingInstance": "host-1",
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:00Z",
        "count": 1,
    }


async def test_the_same_event_again_raises_the_count_of_the_first(
    api: FakeApi, recorder: EventRecorder, clock: Clock
) -> None:
    async with sending(recorder):
        for _ in range(3):
            recorder.warning(POD, "Failed", "no such image")
            clock.seconds += 60
    (event,) = written(api)
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        3,
        "2027-01-15T08:00:00Z",
        "2027-01-15T08:02:00Z",
    )
    assert api.methods() == ["POST", "PATCH", "PATCH"]


async def test_events_about_different_objects_are_different(api: FakeApi, recorder: EventRecorder) -> None:
    other = PODS.describe(Key("default", "q"))
    async with sending(recorder):
        recorder.normal(POD, "Started", "it runs")
        recorder.normal(other, "Started", "it runs")
    assert len(written(api)) == 2


async def test_the_tenth_event_that_differs_only_in_its_message_is_combined(
    api: FakeApi, recorder: EventRecorder
) -> None:
    async with sending(recorder):
        for number in range(12):
            recorder.normal(POD, "Moved", f"step {number}")
    messages = [event["message"] for event in written(api)]
    assert messages == [*(f"step {number}" for number in range(9)), "(combined from similar events): step 11"]
    assert written(api)[-1]["count"] == 3


async def test_similar_events_are_not_combined_when_they_are_rare(
    api: FakeApi, recorder: EventRecorder, clock: Clock
) -> None:
    async with sending(recorder):
        for number in range(12):
            recorder.normal(POD, "Moved", f"step {number}")
            clock.seconds += 601
    assert not any("combined" in event["message"] for event in written(api))


async def test_one_object_gets_a_burst_of_25_and_then_one_every_five_minutes(
    api: FakeApi, recorder: EventRecorder, clock: Clock
) -> None:
    async with sending(recorder):
        for _ in range(40):
            recorder.normal(POD, "Tick", "tick")
        await recorder.flush()
        assert len(api.requests) == 25
        clock.seconds += 300
        recorder.normal(POD, "Tick", "tick")
        recorder.normal(POD, "Tick", "tick")
    assert len(api.requests) == 26
    assert written(api)[0]["count"] == 41


async def test_a_counted_event_whose_first_one_has_expired_is_written_anew(
    api: FakeApi, recorder: EventRecorder
) -> None:
    async with sending(recorder):
        recorder.normal(POD, "Tick", "tick")
        await recorder.flush()
        api.objects.clear()
        recorder.normal(POD, "Tick", "tick")
    (event,) = written(api)
    assert event["count"] == 2
    assert api.methods() == ["POST", "PATCH", "POST"]


async def test_an_unreachable_server_gets_the_event_later(api: FakeApi, recorder: EventRecorder) -> None:
    api.offline = True
    async with sending(recorder):
        recorder.normal(POD, "Started", "it runs")
        await asyncio.sleep(35)
        api.offline = False
    assert len(written(api)) == 1


async def test_a_server_that_stays_away_is_given_up(
    api: FakeApi, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    api.offline = True
    async with sending(recorder):
        recorder.normal(POD, "Started", "it runs")
    assert len(api.requests) == 12
    assert "Gave up on an event" in caplog.text


async def test_a_refused_event_is_dropped_and_the_next_one_sent(api: FakeApi, recorder: EventRecorder) -> None:
    api.answers.append(status(403, "Forbidden"))
    async with sending(recorder):
        recorder.normal(POD, "One", "first")
        recorder.normal(POD, "Two", "second")
    assert [event["reason"] for event in written(api)] == ["Two"]


async def test_recording_never_blocks_even_when_nothing_is_sent(
    recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(QUEUED + 1):
        recorder.normal(PODS.describe(Key("default", f"p{number}")), "Started", "it runs")
    assert "Dropping an event" in caplog.text


async def test_events_about_cluster_scoped_objects_go_to_the_default_namespace(
    api: FakeApi, recorder: EventRecorder
) -> None:
    async with sending(recorder):
        recorder.normal(NODES.describe(Key("", "n")), "Ready", "ready")
    assert "/namespaces/default/events" in api.requests[0].path


async def test_a_name_that_is_no_dns_name_is_not_used_for_the_event(api: FakeApi, recorder: EventRecorder) -> None:
    async with sending(recorder):
        recorder.normal({"apiVersion": "v1", "kind": "Thing", "name": "Not:Dns"}, "Ready", "ready")
    sent = msgspec.json.decode(api.requests[0].body)
    assert "Not:Dns" not in sent["metadata"]["name"]


def test_a_reference_stays_as_it_is() -> None:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    assert reference_to(reference) == reference
