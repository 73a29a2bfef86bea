# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.kube.fake_api import FakeApi, settle

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry, Terminal, owned_by, run
from springtide.kube.informer import Informers
from springtide.kube.resources import JOBS, NODES, PODS, Key
from springtide.kube.workqueue import Backoff

pytestmark = pytest.mark.looptime

A, B = Key("default", "a"), Key("default", "b")


class Reconciler:
    """Answers each call with the next of its outcomes, then with None; remembers when it was called for what."""

    def __init__(self, *outcomes: Result | Exception | None) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[Key] = []
        self.times: list[float] = []

    async def __call__(self, key: Key) -> Result | None:
        self.calls.append(key)
        self.times.append(round(asyncio.get_running_loop().time(), 3))
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def waits(self) -> list[float]:
        return [round(after - before, 3) for before, after in zip(self.times, self.times[1:], strict=False)]


@asynccontextmanager
async def running(controller: Controller[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(controller.run())
    await settle()
    yield
    task.cancel()
    await asyncio.wait((task,))


async def test_every_key_that_is_enqueued_is_reconciled() -> None:
    reconcile = Reconciler()
    controller = Controller("test", reconcile)
    controller.enqueue(A)
    async with running(controller):
        controller.enqueue(B, after=7)
        await asyncio.sleep(10)
    assert reconcile.calls == [A, B]
    assert reconcile.waits == [7]


async def test_a_result_asks_to_look_again() -> None:
    reconcile = Reconciler(Result(requeue_after=30), Result())
    controller = Controller("test", reconcile)
    controller.enqueue(A)
    async with running(controller):
        await asyncio.sleep(100)
    assert reconcile.waits == [30]


@pytest.mark.parametrize(
    ("outcome", "waits"),
    [
        (Retry("not yet", after=12), [12]),
        (Retry("not yet"), [1]),
        (errors.TooManyRequests("slow down", retry_after=4), [4]),
        (errors.Conflict("stale"), [1]),
        (errors.Unreachable("gone"), [1]),
        (errors.Forbidden("quota"), [1]),
        (ValueError("a mistake"), [1]),
        (Terminal("hopeless"), []),
    ],
)
async def test_what_an_exception_means_for_the_next_try(outcome: Exception, waits: list[float]) -> None:
    reconcile = Reconciler(outcome)
    controller = Controller("test", reconcile, backoff=Backoff(base=1))
    controller.enqueue(A)
    async with running(controller):
        await asyncio.sleep(100)
    assert reconcile.waits == waits


async def test_repeated_failures_wait_longer_and_success_resets_that() -> None:
    mistake = ValueError("a mistake")
    reconcile = Reconciler(mistake, mistake, mistake, Result(requeue_after=10), mistake)
    controller = Controller("test", reconcile, backoff=Backoff(base=1))
    controller.enqueue(A)
    async with running(controller):
        await asyncio.sleep(100)
    assert reconcile.waits == [1, 2, 4, 10, 1]


async def test_an_unknown_error_is_logged_with_its_traceback_and_a_passing_one_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    controller = Controller("test", Reconciler(ValueError("a mistake"), errors.Conflict("stale")))
    controller.enqueue(A)
    async with running(controller):
        await asyncio.sleep(1)
    records = [(record.levelname, record.exc_info is not None) for record in caplog.records]
    assert records == [("ERROR", True), ("INFO", False)]


async def test_one_key_is_never_with_two_workers_and_different_keys_are_worked_on_at_once() -> None:
    busy: list[Key] = []
    peak = 0

    async def reconcile(key: Key) -> None:
        nonlocal peak
        assert key not in busy
        busy.append(key)
        peak = max(peak, len(busy))
        await asyncio.sleep(1)
        busy.remove(key)

    controller = Controller("test", reconcile, workers=3)
    async with running(controller):
        for _ in range(10):
            controller.enqueue(A)
            controller.enqueue(B)
            await asyncio.sleep(0.3)
    assert peak == 2


async def test_nothing_is_reconciled_before_all_informers_are_synced(api: FakeApi, client: Client) -> None:
    informers = Informers(client)
    pods, nodes = informers.of(PODS), informers.of(NODES)
    api.put(PODS, A)
    reconcile = Reconciler()
    controller = Controller("test", reconcile)
    controller.watches(pods)
    controller.reads(nodes)
    async with running(controller):
        pods_task = asyncio.create_task(pods.run())
        await asyncio.sleep(1)
        assert reconcile.calls == []
        nodes_task = asyncio.create_task(nodes.run())
        await asyncio.sleep(1)
        assert reconcile.calls == [A]
    for task in (pods_task, nodes_task):
        task.cancel()
        await asyncio.wait((task,))


async def test_stopping_lets_a_reconcile_under_way_finish() -> None:
    finished: list[Key] = []

    async def reconcile(key: Key) -> None:
        await asyncio.sleep(5)
        finished.append(key)

    controller = Controller("test", reconcile)
    controller.enqueue(A)
    task = asyncio.create_task(controller.run())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait((task,))
    assert finished == [A]
    assert task.cancelled()


async def test_a_reconcile_that_does_not_end_is_cancelled_after_the_grace_period() -> None:
    async def reconcile(key: Key) -> None:
        await asyncio.sleep(3600)

    controller = Controller("test", reconcile)
    controller.enqueue(A)
    task = asyncio.create_task(controller.run())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait((task,), timeout=60)
    assert task.done()
    assert asyncio.get_running_loop().time() < 60


async def test_stop_finishes_what_waits_and_returns() -> None:
    reconcile = Reconciler()
    controller = Controller("test", reconcile)
    controller.enqueue(A)
    controller.enqueue(B)
    controller.stop()
    await controller.run()
    assert reconcile.calls == [A, B]


async def test_informers_and_controllers_run_together(api: FakeApi, client: Client) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
    api.put(PODS, A, metadata={"ownerReferences": [owner]})
    informers = Informers(client)
    reconcile = Reconciler()
    controller = Controller("job", reconcile)
    controller.watches(informers.of(PODS), keys=owned_by(JOBS))
    task = asyncio.create_task(run(informers, [controller]))
    await settle()
    api.remove(PODS, A)
    await settle()
    task.cancel()
    await asyncio.wait((task,))
    assert set(reconcile.calls) == {Key("default", "j")}
    assert task.cancelled()


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}, [Key("default", "j")]),
        ({"apiVersion": "batch/v2", "kind": "Job", "name": "j", "controller": True}, [Key("default", "j")]),
        ({"apiVersion": "batch/v1", "kind": "Job", "name": "j"}, []),
        ({"apiVersion": "other.io/v1", "kind": "Job", "name": "j", "controller": True}, []),
        ({"apiVersion": "v1", "kind": "Job", "name": "j", "controller": True}, []),
        ({"apiVersion": "batch/v1", "kind": "CronJob", "name": "j", "controller": True}, []),
    ],
)
def test_owned_by_finds_the_managing_owner_of_that_kind(owner: dict[str, Any], expected: list[Key]) -> None:
    pod = {"metadata": {"namespace": "default", "name": "p", "ownerReferences": [owner]}}
    assert owned_by(JOBS)(pod) == expected
    assert owned_by(JOBS)({"metadata": {"name": "p"}}) == []


async def test_reconciles_that_await_nothing_and_enqueue_each_other_for_ever_stop_nobody() -> None:
    calls: list[Key] = []

    async def reconcile(key: Key) -> Result | None:
        calls.append(key)
        if key == A:
            controller.enqueue(B)
            return Result(requeue_after=0)
        if key == B:
            controller.enqueue(A)
        return None

    controller = Controller("test", reconcile, workers=2)
    controller.enqueue(A)
    quiet = Key("default", "quiet")
    async with running(controller):
        await asyncio.sleep(10)
        controller.enqueue(quiet)
        await settle()
        assert quiet in calls
        before = len(calls)
        await asyncio.sleep(100)
    # Neither stopped nor spinning: each of the two goes on at the queue's pace.
    assert 1500 <= len(calls) - before <= 2500
