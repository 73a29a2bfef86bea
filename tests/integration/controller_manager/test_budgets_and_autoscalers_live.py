# SPDX-License-Identifier: Apache-2.0
"""Disruption budgets and autoscalers against the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.controller_manager.test_deployments_live import a_deployment
from tests.integration.controller_manager.test_jobs_live import a_job
from tests.integration.controller_manager.world import NAMESPACE, a_world

from springtide.kube import errors
from springtide.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    PODDISRUPTIONBUDGETS,
    PODS,
    Key,
    Obj,
    Resource,
)
from springtide.local.controller_manager.autoscaling import autoscalers
from springtide.local.controller_manager.batch import jobs
from springtide.local.controller_manager.workloads import deployments, disruption_budgets, replica_sets

BOATS = Resource("example.com", "v1", "boats", "Boat")


async def test_a_budget_allows_as_many_evictions_as_there_are_spare_pods(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments, disruption_budgets) as world:
        await world.create(DEPLOYMENTS, a_deployment())
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        await world.create(PODDISRUPTIONBUDGETS, {"metadata": {"name": "web"}, "spec": spec})
        pods = await world.until_pods(3)
        await world.until_object(PODDISRUPTIONBUDGETS, "web", lambda b: b["status"].get("expectedPods") == 3)
        await world.run_all()
        budget = await world.until_object(
            PODDISRUPTIONBUDGETS, "web", lambda b: b["status"].get("disruptionsAllowed") == 1
        )
        assert budget["status"]["desiredHealthy"] == 2
        assert budget["status"]["conditions"][0]["reason"] == "SufficientPods"
        name = pods[0]["metadata"]["name"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
        await world.client.create(PODS, eviction, on=Key(NAMESPACE, name), subresource="eviction")
        other = pods[1]["metadata"]["name"]
        eviction["metadata"] = {"name": other, "namespace": NAMESPACE}
        with pytest.raises(errors.TooManyRequests):
            await world.client.create(PODS, eviction, on=Key(NAMESPACE, other), subresource="eviction")


def an_autoscaler(kind: str, api_version: str, name: str, **spec: Any) -> Obj:
    reference = {"apiVersion": api_version, "kind": kind, "name": name}
    return {"metadata": {"name": name}, "spec": {"scaleTargetRef": reference, "maxReplicas": 5, **spec}}


async def test_an_autoscaler_brings_its_target_into_bounds(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments, autoscalers) as world:
        await world.create(DEPLOYMENTS, a_deployment(replicas=7))
        await world.create(HORIZONTALPODAUTOSCALERS, an_autoscaler("Deployment", "apps/v1", "web"))
        await world.until_object(DEPLOYMENTS, "web", lambda deployment: deployment["spec"]["replicas"] == 5)
        found = await world.until_object(
            HORIZONTALPODAUTOSCALERS, "web", lambda a: a.get("status", {}).get("desiredReplicas") == 5
        )
        reasons = {c["type"]: c["reason"] for c in found["status"]["conditions"]}
        assert reasons["AbleToScale"] == "SucceededRescale"
        messages = await world.until(lambda: world.events("SuccessfulRescale"), bool)
        assert messages == ["New size: 5; reason: Current number of replicas above Spec.MaxReplicas"]


async def test_an_autoscaler_resizes_custom_resources(tmp_path: Path) -> None:
    async with a_world(tmp_path, autoscalers) as world:
        await world.client.create(CUSTOMRESOURCEDEFINITIONS, a_scalable_definition())
        boat = {"metadata": {"name": "kit"}, "spec": {"crew": 9}}
        await world.until(lambda: created(world.create(BOATS, boat)), bool)
        await world.create(HORIZONTALPODAUTOSCALERS, an_autoscaler("Boat", "example.com/v1", "kit"))
        await world.until_object(BOATS, "kit", lambda boat: boat["spec"]["crew"] == 5)


@pytest.mark.parametrize(
    ("api_version", "kind", "why"),
    [
        ("example.com/v1", "Ship", 'no matches for kind "Ship" in group "example.com"'),
        ("batch/v1", "Job", "the server could not find the requested resource"),
        ("apps/v1", "Deployment", 'deployments.apps "kit" not found'),
    ],
    ids=["no such kind", "no scale", "no such object"],
)
async def test_an_autoscaler_without_a_target_says_so(tmp_path: Path, api_version: str, kind: str, why: str) -> None:
    async with a_world(tmp_path, autoscalers) as world:
        await world.create(HORIZONTALPODAUTOSCALERS, an_autoscaler(kind, api_version, "kit"))
        found = await world.until_object(HORIZONTALPODAUTOSCALERS, "kit", has_conditions)
        (condition,) = found["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("AbleToScale", "False")
        assert condition["reason"] == "FailedGetScale"
        assert condition["message"] == f"the HPA controller was unable to get the target's current scale: {why}"


async def test_an_autoscaler_without_metrics_says_so(tmp_path: Path) -> None:
    async with a_world(tmp_path, replica_sets, deployments, autoscalers) as world:
        await world.create(DEPLOYMENTS, a_deployment())
        await world.until_pods(3)
        await world.create(HORIZONTALPODAUTOSCALERS, an_autoscaler("Deployment", "apps/v1", "web"))
        found = await world.until_object(HORIZONTALPODAUTOSCALERS, "web", has_conditions)
        condition = found["status"]["conditions"][1]
        assert (condition["type"], condition["reason"]) == ("ScalingActive", "FailedGetResourceMetric")
        assert condition["message"].endswith("no metrics returned from resource metrics API")


def has_conditions(autoscaler: Obj) -> bool:
    return bool(autoscaler.get("status", {}).get("conditions"))


async def test_a_budget_for_pods_of_an_owner_without_a_size_allows_nothing(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs, disruption_budgets) as world:
        await world.create(JOBS, a_job())
        await world.until_pods(1)
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"job-name": "sum"}}}
        await world.create(PODDISRUPTIONBUDGETS, {"metadata": {"name": "sum"}, "spec": spec})
        budget = await world.until_object(
            PODDISRUPTIONBUDGETS, "sum", lambda budget: budget.get("status", {}).get("conditions")
        )
        (condition,) = budget["status"]["conditions"]
        assert condition["reason"] == "SyncFailed"
        assert condition["message"] == "jobs.batch does not implement the scale subresource"


async def created(attempt: Any) -> bool:
    """A resource is served a moment after its definition."""
    try:
        await attempt
    except errors.NotFound:
        return False
    return True


def a_scalable_definition() -> Obj:
    paths = {"specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew", "labelSelectorPath": ".status.who"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}, "scale": paths},
    }
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    header = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return header | {"metadata": {"name": "boats.example.com"}, "spec": spec}
