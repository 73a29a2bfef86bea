# SPDX-License-Identifier: Apache-2.0
"""What is said in events alone is looked up, once in a while."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
import pytest
from tests.unit.controllers.scene import Server
from tests.unit.kube.fake_api import answer, status

from springtide.controllers.caches import Caches
from springtide.controllers.inquiring import PAUSE, EventView, Inquirer, newest
from springtide.controllers.job_keys import JobKey
from springtide.jobs.observed import WarningEvent
from springtide.kube.client import Client
from springtide.kube.informer import Informers
from springtide.kube.resources import Obj

JOB = JobKey("MPIJob", "ns", "pi")


class Scene:
    def __init__(self) -> None:
        self.server, self.now = Server(), 0.0
        client = Client(self.server)
        self.caches, self.answered = Caches(Informers(client), "", ""), list[JobKey]()
        self.inquirer = Inquirer(client, self.caches, self.answered.append, lambda: self.now)

    def says(self, *events: Obj) -> None:
        self.server.answers["GET events"] = answer({"metadata": {}, "items": list(events)})

    async def pass_time(self, seconds: float = 1.0) -> None:
        self.now += seconds
        task = asyncio.create_task(self.inquirer.run())
        await asyncio.sleep(10 * PAUSE)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def scene() -> Scene:
    return Scene()


def event(reason: str, message: str = "", at: str = "2026-11-16T08:00:00Z") -> Obj:
    return {"metadata": {"name": "e"}, "reason": reason, "message": message, "lastTimestamp": at}


@pytest.mark.looptime
async def test_it_is_one_bounded_request(scene: Scene) -> None:
    scene.says(event("FailedMount", "no volume"))
    scene.inquirer.ask(JOB, "u-7")
    await scene.pass_time()
    (sent,) = scene.server.requests
    assert sent.path == "/api/v1/namespaces/ns/events"
    assert sent.query == {"fieldSelector": "involvedObject.uid=u-7,type=Warning", "limit": "50"}
    assert scene.caches.troubles == {JOB: {"u-7": WarningEvent("FailedMount", "no volume")}}
    assert scene.answered == [JOB]


@pytest.mark.looptime
async def test_the_same_is_asked_again_after_a_minute_only(scene: Scene) -> None:
    for _ in range(3):
        scene.says(event("FailedMount", "no volume"))
        scene.inquirer.ask(JOB, "u-7")
        await scene.pass_time()
    assert len(scene.server.requests) == 1
    scene.now += 60
    scene.inquirer.ask(JOB, "u-7")
    await scene.pass_time()
    assert len(scene.server.requests) == 2
    assert scene.answered == [JOB], "the same answer is no news"


@pytest.mark.looptime
async def test_an_answer_is_forgotten_with_the_question(scene: Scene) -> None:
    scene.says(event("FailedMount"))
    scene.inquirer.ask(JOB, "u-7")
    await scene.pass_time()
    scene.inquirer.forget(JOB)
    assert scene.caches.troubles == {}
    scene.inquirer.ask(JOB, "u-7")
    scene.inquirer.forget(JOB)
    await scene.pass_time()
    assert len(scene.server.requests) == 1


@pytest.mark.looptime
async def test_without_the_right_to_read_events_nothing_is_known_and_nothing_breaks(scene: Scene) -> None:
    scene.server.answers["GET events"] = status(403, "Forbidden", "no")
    scene.inquirer.ask(JOB, "u-7")
    await scene.pass_time()
    assert scene.caches.troubles == {}


async def test_more_questions_than_can_wait_are_dropped(scene: Scene) -> None:
    for number in range(2000):
        scene.inquirer.ask(JobKey("MPIJob", "ns", f"pi-{number}"), "u")
    assert len(scene.inquirer._questions) == 1000


def test_the_newest_counts_but_for_what_is_beside_the_point() -> None:
    told = [
        event("FailedMount", "first", "2026-11-16T08:00:00Z"),
        event("FailedAttachVolume", "second", "2026-11-16T08:00:09Z"),
        event("FailedScheduling", "before", "2026-11-16T08:00:10Z"),
        {"reason": "FailedMount", "message": "third", "lastTimestamp": None, "eventTime": "2026-11-16T08:00:11.5Z"},
    ]
    events = msgspec.convert(told, list[EventView])
    assert newest(events) == WarningEvent("FailedMount", "third")
    assert newest(events[:3]) == WarningEvent("FailedAttachVolume", "second")
    assert newest(events[2:3]) is None
