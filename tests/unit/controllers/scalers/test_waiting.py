# SPDX-License-Identifier: Apache-2.0
"""When a scaler has no job, and when it only seems so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.controllers.cached import NAMESPACE, fill
from tests.unit.controllers.scalers.parts import JOB, a_scaler, stored
from tests.unit.controllers.scene import Scene, a_scene
from tests.unit.kube.fake_api import answer, status

from springtide.controllers.scalers.acting import ScalerExecutor
from springtide.controllers.scalers.cache import ScalerKey
from springtide.controllers.scalers.scripts import Scripts
from springtide.controllers.scalers.waiting import RECHECK, ScaledJobs, ScalersWithoutJob
from springtide.kube.client import Client
from springtide.kube.controller import Result
from springtide.kube.resources import Key, Obj, Resource

CREATED = datetime(2026, 11, 16, 8, tzinfo=UTC)
TRAININGJOBS = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")
MISSING = status(404, "NotFound")


@pytest.fixture
def scene() -> Scene:
    return a_scene()


def a_job(uid: str = "u-1") -> Obj:
    return {"metadata": {"namespace": NAMESPACE, "name": JOB, "uid": uid, "resourceVersion": "3"}, "spec": {}}


async def reconciled(scene: Scene, *scalers: Obj, job: Obj | None = None, age: float = 60) -> Result | None:
    client = Client(scene.server)
    jobs = scene.caches.jobs(TRAININGJOBS)
    if job is not None:
        fill(jobs, job)
    stored(scene.caches, *scalers)
    cached = scene.caches.scalers
    scripts = Scripts(client, scene.caches.pods, cached.runs, lambda _: None)
    executor = ScalerExecutor(client, cached, scene.recorder, scripts)
    clock = CREATED + timedelta(seconds=age)
    reconciler = ScalersWithoutJob(client, cached, {"TrainingJob": ScaledJobs(jobs, executor)}, lambda: clock)
    return await reconciler.reconcile(ScalerKey("ScaleOut", NAMESPACE, "grow"))


def said(scene: Scene) -> list[tuple[str, str]]:
    """Types and messages of the conditions that were written."""
    return [
        (each["type"], each["message"])
        for body in scene.server.bodies("PATCH")
        for each in body["status"]["conditions"]
    ]


async def test_a_scaler_that_is_gone_needs_nothing(scene: Scene) -> None:
    assert await reconciled(scene) is None


@pytest.mark.parametrize("owner", ["", "u-1"])
async def test_a_scaler_whose_job_exists_is_left_to_its_job(scene: Scene, owner: str) -> None:
    assert await reconciled(scene, a_scaler(owner=owner), job=a_job()) is None
    assert scene.server.requests == []


async def test_it_waits_for_its_job_and_says_so(scene: Scene) -> None:
    assert await reconciled(scene, a_scaler()) == Result(requeue_after=540)
    ((kind, message),) = said(scene)
    assert kind == "Created"
    assert message.startswith("ScaleOut grow waits for TrainingJob bert, which does not exist; it fails at 08:10:00")
    assert scene.recorder.said == []


async def test_after_ten_minutes_it_fails_if_the_api_server_lacks_the_job_too(scene: Scene) -> None:
    scene.server.answers[f"GET {JOB}"] = MISSING
    assert await reconciled(scene, a_scaler(), age=600) is None
    assert [each[0] for each in said(scene)] == ["Created", "ScaleFailed"]
    ((kind, reason, message),) = scene.recorder.said
    assert (kind, reason) == ("Warning", "ScalingOutFailed")
    assert message.startswith("TrainingJob bert was not created within 10 minutes")


async def test_it_does_not_fail_because_the_cache_is_late(scene: Scene) -> None:
    scene.server.answers[f"GET {JOB}"] = answer(a_job())
    assert await reconciled(scene, a_scaler(), age=600) == Result(requeue_after=RECHECK)
    scene.server.answers[f"GET {JOB}"] = answer(a_job())
    assert await reconciled(scene, a_scaler(owner="u-1")) == Result(requeue_after=RECHECK)
    assert said(scene) == []


@pytest.mark.parametrize("there", [True, False])
async def test_one_of_an_earlier_job_of_this_name_fails(scene: Scene, there: bool) -> None:
    later: dict[str, Any] = {"job": a_job("u-2")} if there else {}
    scene.server.answers[f"GET {JOB}"] = answer(a_job("u-2")) if there else MISSING
    assert await reconciled(scene, a_scaler(owner="u-1"), **later) is None
    assert said(scene)[-1] == ("ScaleFailed", "TrainingJob bert has been deleted")


async def test_one_that_another_object_controls_fails_beside_its_job(scene: Scene) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-web", "controller": True}
    scene.server.answers[f"GET {JOB}"] = answer(a_job())
    await reconciled(scene, a_scaler(metadata={"ownerReferences": [owner]}), job=a_job())
    assert "controlled by Deployment web" in said(scene)[-1][1]


async def test_one_that_selects_no_job_fails_without_a_question(scene: Scene) -> None:
    await reconciled(scene, a_scaler(job=""))
    assert said(scene)[-1][0] == "ScaleFailed"
    assert [each.method for each in scene.server.requests] == ["PATCH"]


def test_the_key_of_a_scaler_is_that_of_its_object() -> None:
    assert ScalerKey("ScaleOut", NAMESPACE, "grow").key == Key(NAMESPACE, "grow")
