# SPDX-License-Identifier: Apache-2.0
"""Deployments and their replica sets against the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.controller_manager.world import World, a_world

from springtide.kube.resources import DEPLOYMENTS, PODS, REPLICASETS, RESOURCEQUOTAS, Obj
from springtide.local.controller_manager.conditions import find
from springtide.local.controller_manager.workloads import deployments, replica_sets


def a_deployment(name: str = "web", replicas: int = 3, **spec: Any) -> Obj:
    container = {"name": "c", "image": "one"}
    return {
        "metadata": {"name": name, "annotations": {"note": "x"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
            **spec,
        },
    }


def image(name: str) -> Obj:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}}


def available(count: int) -> Any:
    return lambda deployment: deployment["status"].get("availableReplicas", 0) == count


def rolled_out(deployment: Obj) -> bool:
    """As `kubectl rollout status` sees it."""
    status, wanted = deployment["status"], deployment["spec"]["replicas"]
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return seen and all(status.get(count, 0) == wanted for count in counts)


async def test_a_deployment_gets_its_pods_and_becomes_available(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments) as world:
        await world.create(DEPLOYMENTS, a_deployment())
        await world.until_pods(3)
        await world.run_all()
        deployment = await world.until_object(DEPLOYMENTS, "web", available(3))
        assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
        reasons = {c["type"]: (c["status"], c["reason"]) for c in deployment["status"]["conditions"]}
        assert reasons == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }
        (replica_set,) = await world.all_of(REPLICASETS)
        assert replica_set["metadata"]["annotations"] == {
            "note": "x",
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        }


async def test_a_new_template_replaces_all_pods_step_by_step(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments) as world:
        await world.create(DEPLOYMENTS, a_deployment())
        await world.until_pods(3)
        await world.run_all()
        await world.until_object(DEPLOYMENTS, "web", available(3))
        await world.patch(DEPLOYMENTS, "web", image("two"))

        async def playing_kubelet() -> Obj:
            await world.run_all()
            return await world.get(DEPLOYMENTS, "web")

        done = await world.until(playing_kubelet, rolled_out)
        assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
        pods = await world.pods()
        assert [pod["spec"]["containers"][0]["image"] for pod in pods] == ["two"] * 3


async def test_pods_over_quota_are_reported_up_to_the_deployment(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments) as world:
        hard = {"pods": "1"}
        await world.create(RESOURCEQUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": hard}})
        await world.patch(RESOURCEQUOTAS, "few", {"status": {"hard": hard, "used": {"pods": "0"}}}, "status")
        await world.create(DEPLOYMENTS, a_deployment())
        deployment = await world.until_object(
            DEPLOYMENTS, "web", lambda d: find(d["status"].get("conditions", ()), "ReplicaFailure")
        )
        failure = find(deployment["status"]["conditions"], "ReplicaFailure")
        assert failure is not None
        assert failure["reason"] == "FailedCreate"
        assert "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1" in failure["message"]
        assert len(await world.pods()) == 1


async def test_recreate_lets_old_pods_go_before_new_ones_come(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments) as world:
        await world.create(DEPLOYMENTS, a_deployment(strategy={"type": "Recreate"}))
        await world.until_pods(3)
        await world.run_all()
        await world.until_object(DEPLOYMENTS, "web", available(3))
        await world.patch(DEPLOYMENTS, "web", image("two"))
        images = await world.until(lambda: images_of(world), lambda found: len(found) == 3 and "one" not in found)
        assert images == ["two"] * 3


async def images_of(world: World) -> list[str]:
    found = [pod["spec"]["containers"][0]["image"] for pod in await world.pods()]
    assert len(set(found)) <= 1, "old and new pods at the same time"
    return found


async def test_a_replica_set_adopts_matching_pods_and_lets_others_go(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets) as world:
        pod = {
            "metadata": {"name": "bare", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        await world.create(PODS, pod)
        await world.create(REPLICASETS, a_deployment(replicas=2))
        await world.until_pods(2)
        adopted = await world.until_object(PODS, "bare", lambda pod: "ownerReferences" in pod["metadata"])
        assert adopted["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        await world.patch(PODS, "bare", {"metadata": {"labels": {"app": "other"}}})
        await world.until_object(PODS, "bare", lambda pod: "ownerReferences" not in pod["metadata"])
        await world.until_pods(2, "app=web")


async def test_scaling_in_deletes_what_is_not_ready_first(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets) as world:
        await world.create(REPLICASETS, a_deployment())
        first, *_ = await world.until_pods(3)
        await world.run(first)
        await world.until_object(REPLICASETS, "web", lambda found: found["status"].get("readyReplicas") == 1)
        await world.patch(REPLICASETS, "web", {"spec": {"replicas": 1}})
        (left,) = await world.until_pods(1)
        assert left["metadata"]["name"] == first["metadata"]["name"]
