# SPDX-License-Identifier: Apache-2.0
"""How long a TensorBoard is forwarded to, and what is told of it meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster
from tests.unit.kube.fake_api import status

from springtide.cli.jobs.tensorboard.tensorboard_forwarding import until_gone
from springtide.cli.jobs.tensorboard.tensorboards import Deployed
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import DEPLOYMENTS, PODS, Key
from springtide.messages import Language, Text, shown

KEY = Key("team", "bert-tensorboard")
LABELS = {"release": "bert", "role": "tensorboard"}
BOARD = Deployed(KEY, "1", "bert")
LONG = 600.0

pytestmark = pytest.mark.looptime


class Told:
    def __init__(self) -> None:
        self.said: list[str] = []

    def listening(self, port: int) -> None:
        raise AssertionError("until_gone listens to no port")

    def waits(self, why: Text, *, needs_help: bool) -> None:
        line = shown(why, Language.ENGLISH)
        if self.said[-1:] != [line]:
            self.said.append(line)

    def answers(self) -> None:
        self.said.append("answers")


def a_cluster(uid: str = "1") -> FakeCluster:
    api = FakeCluster()
    api.put(DEPLOYMENTS, KEY, metadata={"uid": uid, "labels": LABELS})
    return api


def a_pod(api: FakeCluster, name: str, **fields: Any) -> None:
    metadata = {"uid": name, "labels": LABELS, "creationTimestamp": "2026-01-01T00:00:00Z"}
    api.put(PODS, Key("team", name), metadata=metadata, **fields)


def ready(api: FakeCluster, name: str) -> None:
    a_pod(api, name, status={"conditions": [{"type": "Ready", "status": "True"}]})


async def started(api: FakeCluster, answers: bool = True) -> tuple[asyncio.Task[None], Told]:
    async def page() -> bool:
        return answers

    told = Told()
    return asyncio.create_task(until_gone(Client(api), BOARD, page, told)), told


async def test_it_tells_why_there_is_no_page_and_when_there_is_one() -> None:
    api = a_cluster()
    following, told = await started(api)
    await asyncio.sleep(LONG)
    a_pod(api, "a", status={"phase": "Pending"})
    await asyncio.sleep(LONG)
    ready(api, "a")
    await asyncio.sleep(LONG)
    api.remove(PODS, Key("team", "a"))
    await asyncio.sleep(LONG)
    ready(api, "b")
    await asyncio.sleep(LONG)
    api.remove(DEPLOYMENTS, KEY)
    await following
    assert told.said == [
        *("TensorBoard has no pod yet.", "TensorBoard starts.", "answers"),
        *("TensorBoard has no pod yet.", "answers"),
    ]


async def test_a_pod_that_is_ready_has_no_page_at_once() -> None:
    api = a_cluster()
    ready(api, "a")
    following, told = await started(api, answers=False)
    await asyncio.sleep(LONG)
    assert told.said == ["TensorBoard starts."]
    following.cancel()


@pytest.mark.parametrize("metadata", [{"uid": "2"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])
async def test_it_ends_when_the_deployment_is_deleted_or_another_one(metadata: dict[str, str]) -> None:
    api = a_cluster()
    following, _ = await started(api)
    await asyncio.sleep(LONG)
    assert not following.done()
    api.put(DEPLOYMENTS, KEY, metadata=metadata)
    await following


async def test_it_ends_when_the_cluster_is_gone_but_not_when_its_server_is_started_anew() -> None:
    api = a_cluster()
    following, _ = await started(api)
    for _ in range(3):
        api.offline = True
        await asyncio.sleep(20)
        api.offline = False
        await asyncio.sleep(20)
    assert not following.done()
    api.offline = True
    with pytest.raises(errors.Unreachable):
        await following


async def test_it_ends_without_the_right_to_ask() -> None:
    api = a_cluster()
    following, _ = await started(api)
    await asyncio.sleep(LONG)
    api.answers.append(status(403, "Forbidden"))
    with pytest.raises(errors.Forbidden):
        await following
