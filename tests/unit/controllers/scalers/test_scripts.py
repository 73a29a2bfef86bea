# SPDX-License-Identifier: Apache-2.0
"""Scripts in the background: once at a time, repeated where they could not begin, forgotten with their scaler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.controllers.cached import NAMESPACE, caches, fill, made

from springtide.controllers.job_keys import JobKey
from springtide.controllers.scalers import scripts
from springtide.controllers.scalers.scripts import AT_ONCE_IN_NAMESPACE, MARGIN, NOT_RUN, TRIES, Scripts
from springtide.jobs.actions import RunScript
from springtide.jobs.scaling.scaler import ScriptRun
from springtide.jobs.scaling.scripts import TIMED_OUT
from springtide.kube import errors, exec
from springtide.kube.client import Client
from springtide.kube.exec import Ended
from springtide.kube.resources import PODS

JOB = JobKey("TrainingJob", NAMESPACE, "bert")
Answer = Callable[[], Awaitable[Ended]]


def wanted(scaler: str = "u-grow", attempt: int = 0, **fields: Any) -> RunScript:
    given = {"pod": "bert-launcher", "uid": "uid-bert-launcher", "container": "main", "argv": ("sh", "/s")} | fields
    return RunScript(scaler=scaler, attempt=attempt, timeout=timedelta(seconds=30), **given)


class Scene:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[Ended | Exception | asyncio.Event] = []
        self.asked: list[tuple[object, ...]] = []
        self.at_once = self.most_at_once = 0
        self.ended: list[JobKey] = []
        self.news = asyncio.Event()
        self.runs: dict[str, ScriptRun] = {}
        found = caches()
        fill(found.pods, made(PODS, "bert-launcher"), made(PODS, "greedy", metadata={"namespace": "greedy"}))
        self.scripts = Scripts(Client(None), found.pods, self.runs, self._ended)  # type: ignore[arg-type]
        monkeypatch.setattr(exec, "execute", self._execute)

    async def _execute(self, _client: object, *given: object) -> Ended:
        self.asked.append(given)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            answer = self.answers.pop(0) if self.answers else Ended(0, "")
            if isinstance(answer, asyncio.Event):
                await answer.wait()
                return Ended(0, "")
            if isinstance(answer, Exception):
                raise answer
            return answer
        finally:
            self.at_once -= 1

    async def done(self, scaler: str = "u-grow") -> ScriptRun:
        while self.runs[scaler].exit_code is None:
            self.news.clear()
            await self.news.wait()
        return self.runs[scaler]

    def _ended(self, job: JobKey) -> None:
        self.ended.append(job)
        self.news.set()


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(scripts, "BACKOFF", 0.001)
    return Scene(monkeypatch)


async def test_the_result_is_kept_and_the_job_is_reconciled(scene: Scene) -> None:
    scene.answers = [Ended(5, "step 1\nst\x1bep 2")]
    scene.scripts.start(JOB, wanted(attempt=2))
    assert scene.runs["u-grow"] == ScriptRun(2)
    assert await scene.done() == ScriptRun(2, 5, "step 1\nst ep 2")
    assert scene.ended == [JOB]
    ((pod, container, argv, timeout),) = scene.asked
    assert (pod, container, argv) == ((NAMESPACE, "bert-launcher"), "main", ("sh", "/s"))
    assert timeout == 30 + MARGIN


async def test_an_attempt_that_is_known_is_not_run_again_and_the_next_one_is(scene: Scene) -> None:
    ends = asyncio.Event()
    scene.answers = [ends]
    for attempt in (0, 0, 1):
        scene.scripts.start(JOB, wanted(attempt=attempt))
        await asyncio.sleep(0.01)
    assert len(scene.asked) == 1
    ends.set()
    await scene.done()
    scene.scripts.start(JOB, wanted(attempt=0))
    assert len(scene.asked) == 1
    scene.scripts.start(JOB, wanted(attempt=1))
    assert (await scene.done()).attempt == 1
    assert len(scene.asked) == 2


async def test_so_many_scripts_of_a_namespace_run_at_once_and_the_others_wait(scene: Scene) -> None:
    most = AT_ONCE_IN_NAMESPACE
    ends = asyncio.Event()
    scene.answers = [ends] * (most + 4)
    names = [f"u-{number}" for number in range(most + 4)]
    for name in names:
        scene.scripts.start(JOB, wanted(name))
    await asyncio.sleep(0.02)
    assert len(scene.asked) == most
    ends.set()
    for name in names:
        await scene.done(name)
    assert (len(scene.asked), scene.most_at_once) == (most + 4, most)


async def test_scripts_of_one_namespace_keep_none_of_another_from_running(scene: Scene) -> None:
    scene.answers = [asyncio.Event()] * AT_ONCE_IN_NAMESPACE
    greedy = JobKey("TrainingJob", "greedy", "bert")
    for number in range(AT_ONCE_IN_NAMESPACE + 4):
        scene.scripts.start(greedy, wanted(f"u-{number}", pod="greedy", uid="uid-greedy"))
    await asyncio.sleep(0.02)
    scene.scripts.start(JOB, wanted())
    assert (await scene.done()).exit_code == 0
    await scene.scripts.close()


async def test_a_mistake_in_the_operator_ends_the_script(scene: Scene) -> None:
    scene.answers = [ZeroDivisionError("a mistake")]
    scene.scripts.start(JOB, wanted())
    run = await scene.done()
    assert (run.exit_code, "a mistake" in run.last_lines) == (NOT_RUN, True)
    assert scene.ended == [JOB]


async def test_one_that_could_not_begin_is_tried_again(scene: Scene) -> None:
    scene.answers = [errors.Unreachable("no route"), errors.ServerError("no kubelet"), Ended(0, "done")]
    scene.scripts.start(JOB, wanted())
    assert await scene.done() == ScriptRun(0, 0, "done")


async def test_but_not_for_ever(scene: Scene) -> None:
    scene.answers = [errors.ServerError("no kubelet")] * (TRIES + 1)
    scene.scripts.start(JOB, wanted())
    assert await scene.done() == ScriptRun(0, NOT_RUN, "it could not be run in pod bert-launcher: no kubelet")
    assert len(scene.asked) == TRIES


async def test_a_refusal_is_not_repeated(scene: Scene) -> None:
    scene.answers = [errors.Forbidden("no right")]
    scene.scripts.start(JOB, wanted())
    assert await scene.done() == ScriptRun(0, NOT_RUN, "it could not be run in pod bert-launcher: no right")


async def test_one_that_takes_too_long_has_failed_with_its_last_lines(scene: Scene) -> None:
    scene.answers = [exec.TimedOut("too long", "step 1")]
    scene.scripts.start(JOB, wanted())
    assert await scene.done() == ScriptRun(0, TIMED_OUT, "step 1")


async def test_one_whose_connection_is_lost_is_run_again_once_it_must_have_ended(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    scene.answers = [exec.Lost("the connection was closed", "step 1"), Ended(0, "done")]
    scene.scripts.start(JOB, wanted())
    monkeypatch.setattr(asyncio, "sleep", noted)
    assert await scene.done() == ScriptRun(0, 0, "done")
    assert 30 + MARGIN - 5 < max(slept) <= 30 + MARGIN


async def test_in_a_pod_that_was_replaced_nothing_is_run(scene: Scene) -> None:
    for gone in (wanted(uid="another"), wanted(pod="missing")):
        scene.scripts.forget("u-grow")
        scene.scripts.start(JOB, gone)
        run = await scene.done()
        assert (run.exit_code, run.last_lines[-15:]) == (NOT_RUN, "the pod is gone")
    assert scene.asked == []


async def test_the_script_of_a_scaler_that_is_gone_is_cancelled_and_forgotten(scene: Scene) -> None:
    scene.answers = [asyncio.Event()]
    scene.scripts.start(JOB, wanted())
    await asyncio.sleep(0.01)
    scene.scripts.forget("u-grow")
    await asyncio.sleep(0.01)
    assert (scene.runs, scene.at_once, scene.ended) == ({}, 0, [])


async def test_those_of_a_job_that_is_gone_are_cancelled(scene: Scene) -> None:
    other = JOB._replace(name="other")
    scene.answers = [asyncio.Event(), asyncio.Event()]
    scene.scripts.start(JOB, wanted())
    scene.scripts.start(other, wanted("u-other"))
    await asyncio.sleep(0.01)
    scene.scripts.forget_job(JOB)
    await asyncio.sleep(0.01)
    assert (list(scene.runs), scene.at_once) == (["u-other"], 1)
    await scene.scripts.close()


async def test_an_operator_that_no_longer_leads_runs_none_and_knows_of_none(scene: Scene) -> None:
    scene.answers = [asyncio.Event(), Ended(0, "")]
    scene.scripts.start(JOB, wanted())
    await asyncio.sleep(0.01)
    scene.scripts.start(JOB, wanted("u-other"))
    await scene.done("u-other")
    await scene.scripts.close()
    assert (scene.runs, scene.at_once) == ({}, 0)
