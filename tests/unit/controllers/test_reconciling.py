# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from tests import loop_lag
from tests.unit.api.builders import an_mpijob
from tests.unit.controllers.cached import NAME, NAMESPACE, OWNER, caches, fill, made
from tests.unit.controllers.scene import Scene, a_scene
from tests.unit.kube.fake_api import answer, status

from springtide.api.defaults.mpijob import defaulted
from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.scalers import ScalerStatus
from springtide.controllers import observing
from springtide.controllers.metrics import Metrics
from springtide.controllers.reconciling import PREDECESSOR_RETRY, Reconciler, size_of
from springtide.jobs.engine import MOST_PODS
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Settings
from springtide.jobs.registry import SERVED
from springtide.jobs.scaling.scaler import Scaler
from springtide.kube import errors
from springtide.kube.controller import Result, Retry
from springtide.kube.resources import CONFIGMAPS, PODS, SERVICEACCOUNTS, Key, Obj

KEY = Key(NAMESPACE, NAME)
ENDED: Final = ScalerStatus(conditions=(Condition(type="ScaleFailed", status="True"),))


@pytest.fixture
def scene() -> Scene:
    return a_scene()


async def reconciled(scene: Scene, raw: Obj | None, metrics: Metrics | None = None) -> Result | None:
    if raw is not None:
        fill(scene.jobs, raw)
    (served,) = (each for each in SERVED if each.kind == "MPIJob")
    reconciler = Reconciler(served, scene.jobs, scene.caches, scene.executor, Settings(), metrics or Metrics())
    return await reconciler.reconcile(KEY)


def a_job(**metadata: Any) -> Obj:
    """As it is stored: in the other version, with the mark of the one it came by."""
    raw = an_mpijob("v1", launcherAttachMode="kubexec")
    raw["apiVersion"] = "kubeflow.org/v2beta1"
    raw["metadata"] |= {"resourceVersion": "41", **metadata}
    return raw


async def test_a_job_that_is_gone_needs_nothing(scene: Scene) -> None:
    assert await reconciled(scene, None) is None
    assert scene.server.requests == []


async def test_a_job_gets_what_it_wants_in_the_name_of_the_version_it_came_by(scene: Scene) -> None:
    await reconciled(scene, a_job())
    made_for_it = scene.server.bodies("POST")
    assert {each["metadata"]["ownerReferences"][0]["apiVersion"] for each in made_for_it} == {"kubeflow.org/v1"}
    assert scene.server.done()[-1] == "PATCH mpijobs/pi/status"


async def test_what_it_got_is_seen_at_the_next_look_although_no_watch_has_told(scene: Scene) -> None:
    await reconciled(scene, a_job())
    mark = len(scene.server.requests)
    await reconciled(scene, None)
    assert not any(each.startswith("POST") for each in scene.server.done()[mark:])


@pytest.mark.parametrize("what", ["deleted", "managed elsewhere"])
async def test_some_jobs_are_left_alone(scene: Scene, what: str) -> None:
    raw = a_job(**({"deletionTimestamp": "2026-11-16T08:00:00Z"} if what == "deleted" else {}))
    if what == "managed elsewhere":
        raw["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    assert await reconciled(scene, raw) is None
    assert scene.server.requests == []


@pytest.mark.parametrize("spec", [None, {}, "nonsense", {"mpiReplicaSpecs": {"Launcher": 7}}])
async def test_whatever_is_written_in_a_job_it_is_told_and_breaks_nothing(scene: Scene, spec: Any) -> None:
    await reconciled(scene, a_job() | {"spec": spec})
    assert scene.server.done() == ["PATCH mpijobs/pi/status"]
    assert [reason for _, reason, _ in scene.recorder.said] == ["ValidationError"]


async def test_what_is_left_of_an_earlier_job_of_the_name_is_waited_for(scene: Scene) -> None:
    fill(scene.caches.held[CONFIGMAPS], made(CONFIGMAPS, "pi-config", owner={**OWNER, "uid": "before"}))
    again = Result(requeue_after=PREDECESSOR_RETRY.total_seconds())
    assert await reconciled(scene, a_job(creationTimestamp=datetime.now(UTC).isoformat())) == again
    assert scene.server.requests == []


async def test_after_a_while_it_is_said_what_is_waited_for(scene: Scene) -> None:
    fill(scene.caches.held[CONFIGMAPS], made(CONFIGMAPS, "pi-config", owner={**OWNER, "uid": "before"}))
    again = Result(requeue_after=PREDECESSOR_RETRY.total_seconds())
    raw = a_job(creationTimestamp="2026-11-16T06:00:00Z")
    assert await reconciled(scene, raw) == again
    assert scene.server.done() == ["PATCH mpijobs/pi/status"]
    (body,) = scene.server.bodies("PATCH")
    (condition,) = body["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("NameTaken", "EarlierJobRemains")
    assert condition["message"].endswith(
        "objects of an earlier MPIJob of the same name are deleted: ConfigMap pi-config"
    )
    assert scene.recorder.said == [("Warning", "EarlierJobRemains", condition["message"])]
    assert await reconciled(scene, raw | {"status": body["status"]}) == again
    assert len(scene.server.requests) == 1, "and it is said once"


async def test_waiting_for_somebody_elses_object_to_go_is_no_error(scene: Scene) -> None:
    metrics = Metrics()
    scene.server.answers["POST serviceaccounts"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi-launcher"] = answer(made(SERVICEACCOUNTS, "pi-launcher", owner=None))
    with pytest.raises(Retry):
        await reconciled(scene, a_job(), metrics)
    assert 'springtide_reconciles_total{kind="MPIJob",outcome="retry"} 1.0' in metrics.text()[0].decode()


@pytest.mark.parametrize(("refused", "outcome"), [(False, "ok"), (True, "retry")])
async def test_how_it_went_is_counted(scene: Scene, refused: bool, outcome: str) -> None:
    metrics = Metrics()
    if refused:
        scene.server.offline = True
        with pytest.raises(errors.Unreachable):
            await reconciled(scene, a_job(), metrics)
    else:
        await reconciled(scene, a_job(), metrics)
    text = metrics.text()[0].decode()
    assert f'springtide_reconciles_total{{kind="MPIJob",outcome="{outcome}"}} 1.0' in text


async def test_a_large_job_is_planned_without_holding_up_the_loop(scene: Scene) -> None:
    workers = 5000
    raw = a_job()
    raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = workers
    indices = range(workers // 2)
    labels = [{"springtide.dev/role": "Worker", "springtide.dev/index": str(index)} for index in indices]
    fill(scene.caches.pods, *(made(PODS, f"pi-worker-{index}", labels=labels[index]) for index in indices))
    async with loop_lag.measured() as lag:
        for _ in range(3):
            await reconciled(scene, raw)
    assert sum(request.method == "POST" for request in scene.server.requests) > MOST_PODS
    assert lag.longest < loop_lag.MOST


@pytest.mark.parametrize(
    ("scalers", "size"),
    [
        ((), 3),
        ((Scaler("ScaleOut", "a", "1", count=3000), Scaler("ScaleIn", "b", "2", pod_names=("x", "y"))), 3 + 3001 + 3),
        ((Scaler("ScaleOut", "a", "1", count=2**31 - 1),), 3 + 10_001),
        ((Scaler("ScaleOut", "a", "1", count=3000, status=ENDED),) * 2, 3),
    ],
    ids=["without scalers", "those that wait", "never more than the limit", "those that have ended"],
)
def test_a_job_that_scalers_make_large_is_planned_as_a_large_one(scalers: tuple[Scaler, ...], size: int) -> None:
    job = defaulted(a_job())
    found = replace(observing.found(job, MPI_KIND, caches(), Settings()), scalers=scalers)
    assert size_of(found) == size


async def test_a_job_of_any_size_is_judged_at_once(scene: Scene) -> None:
    raw = a_job()
    raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 2**31 - 1
    async with loop_lag.measured() as lag:
        await reconciled(scene, raw)
    assert scene.server.done() == ["PATCH mpijobs/pi/status"]
    assert lag.longest < loop_lag.MOST


async def test_what_is_a_warning_is_a_line_of_the_operators_log_too(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    kept = {"springtide.dev/ledger": '{"serves":"uid-of-a-launcher-that-is-gone"}'}
    fill(scene.caches.held[CONFIGMAPS], made(CONFIGMAPS, f"{NAME}-config", metadata={"annotations": kept}))
    await reconciled(scene, a_job())
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == [
        "MPIJob ns/pi: The launcher is gone"
    ]
