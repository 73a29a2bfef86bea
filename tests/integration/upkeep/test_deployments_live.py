# SPDX-License-Identifier: Apache-2.0
"""Deployments and their replica sets against the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.upkeep.world import a_world

from springtide.kube.resources import DEPLOYMENTS, REPLICASETS, Obj
from springtide.local.upkeep import deployments, replica_sets


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
