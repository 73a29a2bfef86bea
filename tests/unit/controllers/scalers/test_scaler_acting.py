# SPDX-License-Identifier: Apache-2.0
"""Actions about scalers, at a server that agrees to everything."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.controllers.cached import NAME, NAMESPACE, UID
from tests.unit.controllers.scalers.parts import a_scaler, stored
from tests.unit.controllers.scene import Scene, a_scene
from tests.unit.kube.fake_api import answer, status

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.scalers import ScalerStatus
from springtide.controllers.scalers.cache import ScalerKey
from springtide.jobs.actions import BindScaler, Event, Patch, ScalerEvent, ScalerStatusPatch
from springtide.jobs.observed import Key
from springtide.jobs.scaling.scaler import Scaler
from springtide.kube import errors
from springtide.kube.resources import Obj

OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "u-other"}
CREATED = ScalerStatus(
    phase="Created",
    conditions=(Condition(type="Created", status="True"),),
    replica_statuses={},
    restart_count=0,
)


@pytest.fixture
def scene() -> Scene:
    return a_scene()


def observed(scene: Scene, **fields: Any) -> Scaler:
    stored(scene.caches, a_scaler(**fields))
    found = scene.caches.scalers.find(ScalerKey("ScaleOut", NAMESPACE, "grow"))
    assert found is not None
    return found[0]


def accepted(**metadata: Any) -> Any:
    return answer(a_scaler(metadata={"resourceVersion": "8", **metadata}))


async def test_a_status_is_written_as_it_was_observed_and_seen_at_once(scene: Scene) -> None:
    scaler = observed(scene)
    scene.server.answers["PATCH status"] = answer(
        a_scaler(metadata={"resourceVersion": "8"}, status={"phase": "Created"})
    )
    await scene.act(ScalerStatusPatch(scaler, CREATED))
    assert scene.server.done() == ["PATCH scaleouts/grow/status"]
    (body,) = scene.server.bodies("PATCH")
    assert body["metadata"] == {"resourceVersion": "7", "uid": "u-grow"}
    condition = {"type": "Created", "status": "True"}
    assert body["status"] == {
        "phase": "Created",
        "conditions": [condition],
        "replicaStatuses": {},
        "restartCount": 0,
    }
    assert observed_now(scene).status.phase == "Created"


def observed_now(scene: Scene) -> Scaler:
    found = scene.caches.scalers.find(ScalerKey("ScaleOut", NAMESPACE, "grow"))
    assert found is not None
    return found[0]


async def test_after_a_status_that_was_refused_nothing_else_is_done(scene: Scene) -> None:
    scaler = observed(scene)
    scene.server.answers["PATCH status"] = status(409, "Conflict")
    with pytest.raises(errors.Conflict):
        await scene.act(ScalerStatusPatch(scaler, CREATED), Event("Normal", "Never", "said"))
    assert scene.recorder.said == []


async def test_the_same_status_is_not_written_again(scene: Scene) -> None:
    scaler = observed(scene)
    await scene.act(ScalerStatusPatch(scaler, scaler.status))
    assert scene.server.requests == []


async def test_the_job_becomes_the_controller_beside_other_owners(scene: Scene) -> None:
    scaler = observed(scene, metadata={"ownerReferences": [OTHER]})
    await scene.act(BindScaler(scaler))
    assert scene.server.done() == ["PATCH scaleouts/grow"]
    (body,) = scene.server.bodies("PATCH")
    assert body["metadata"]["resourceVersion"] == "7"
    first, second = body["metadata"]["ownerReferences"]
    assert first == OTHER
    assert (second["kind"], second["name"], second["uid"]) == ("MPIJob", NAME, UID)
    assert second["controller"] is second["blockOwnerDeletion"] is True
    assert "namespace" not in second


async def test_a_bound_scaler_is_not_bound_again(scene: Scene) -> None:
    await scene.act(BindScaler(observed(scene, owner=UID)))
    assert scene.server.requests == []


@pytest.mark.parametrize("now", [{"owner": "u-0"}, {"metadata": {"uid": "another"}}])
async def test_one_that_was_replaced_or_has_another_controller_meanwhile_is_not_bound(scene: Scene, now: Obj) -> None:
    scaler = observed(scene)
    stored(scene.caches, a_scaler(**now))
    with pytest.raises(errors.Conflict):
        await scene.act(BindScaler(scaler))
    assert scene.server.requests == []


async def test_an_event_is_about_the_scaler(scene: Scene) -> None:
    await scene.act(ScalerEvent(observed(scene), "Warning", "ScalingOutFailed", "1 of 2 ready"))
    assert scene.recorder.said == [("Warning", "ScalingOutFailed", "1 of 2 ready")]


async def test_the_size_is_written_to_the_job_itself(scene: Scene) -> None:
    body = {"spec": {"replicas": 3}}
    await scene.act(Patch(Key("kubeflow.org/v2beta1", "MPIJob", NAME), body, "41", UID))
    assert scene.server.done() == [f"PATCH mpijobs/{NAME}"]
    assert scene.server.bodies("PATCH") == [body | {"metadata": {"resourceVersion": "41", "uid": UID}}]
