# SPDX-License-Identifier: Apache-2.0
"""Jobs that are not served, and what stands in the way of those that are."""

from __future__ import annotations

import pytest
from tests.integration.controllers.world import MPIJOBS, NAME, V1, V2, World, job

from springtide.kube.request import DeleteOptions, Request
from springtide.kube.resources import (
    CONFIGMAPS,
    NAMESPACES,
    PODS,
    ROLEBINDINGS,
    ROLES,
    SERVICEACCOUNTS,
    Key,
    Obj,
    Resource,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONFIG = f"{NAME}-config"
OBJECTS = (CONFIGMAPS, SERVICEACCOUNTS, ROLES, ROLEBINDINGS, PODS)


async def test_a_job_that_somebody_else_manages_is_left_alone(operated: World) -> None:
    await operated.submit(job(V2, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}))
    await operated.quiet()
    assert operated.wire.writes == []
    assert await operated.status() == {}
    assert await operated.events() == []


async def test_a_job_that_is_not_valid_is_told_so_once(operated: World) -> None:
    raw = job(V1)
    del raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    await operated.submit(raw)
    condition = await operated.until_condition("Invalid")
    field = "spec.mpiReplicaSpecs[Worker].replicas"
    assert condition["reason"] == "ValidationError"
    assert field in condition["message"]
    event = await operated.until_event("ValidationError")
    assert (event["type"], event["message"]) == ("Warning", condition["message"])
    await operated.restart()
    await operated.quiet()
    assert operated.wire.writes == []
    assert await operated.told() == {"ValidationError": 1}


async def test_and_runs_once_it_is_mended(operated: World) -> None:
    raw = job(V1)
    del raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    await operated.submit(raw)
    await operated.until_condition("Invalid")
    await operated.resize(2)
    await operated.until_condition("Invalid", "False")
    await operated.workers_run(2)
    await operated.launcher_runs()
    await operated.until_condition("Running")


async def test_an_object_of_the_job_that_lost_its_labels_gets_them_back(operated: World) -> None:
    await operated.running(job(V1))
    gone = {"metadata": {"labels": {"springtide.dev/job": None}}}
    await operated.client.patch(CONFIGMAPS, operated.key(CONFIG), gone)
    await operated.until(
        lambda: operated.get(CONFIGMAPS, CONFIG), lambda found: "springtide.dev/job" in found["metadata"]["labels"]
    )
    await operated.quiet()
    assert await operated.workers() == [f"{NAME}-worker-0", f"{NAME}-worker-1"]
    assert await operated.listed() == [f"{NAME}-worker-0", f"{NAME}-worker-1"]
    assert (await operated.status())["state"] == "Running"


@pytest.mark.parametrize("version", [V1, V2])
async def test_a_host_list_that_somebody_deleted_is_written_again(operated: World, version: str) -> None:
    await operated.running(job(version))
    before = await operated.listed()
    await operated.delete(CONFIGMAPS, CONFIG)
    await operated.until_listed(0, 1)
    await operated.quiet()
    assert await operated.listed() == before
    assert await operated.workers() == [f"{NAME}-worker-0", f"{NAME}-worker-1"]


async def test_a_job_created_anew_waits_for_what_is_left_of_the_one_before(operated: World) -> None:
    await operated.running(job(V1))
    await operated.quiet()
    old = (await operated.job())["metadata"]["uid"]
    await operated.delete(MPIJOBS[V2], NAME)
    await operated.submit(job(V1, workers=1))
    mark = len(operated.wire.writes)
    await operated.quiet()
    assert operated.wire.written()[mark:] == []
    for resource in OBJECTS:
        await _collect(operated, resource, old)
    await operated.until_workers(0)
    new = (await operated.job())["metadata"]["uid"]
    await operated.workers_run(1)
    await operated.launcher_runs()
    await operated.until_condition("Running")
    for resource in OBJECTS:
        for name, found in (await operated.all_of(resource, f"springtide.dev/job={NAME}")).items():
            assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [new], name


async def test_a_job_created_anew_is_not_told_how_the_one_before_ended(operated: World) -> None:
    """Which was decided just before, and is written just after."""
    launcher = await operated.running(job(V1))
    await operated.quiet()

    async def replaced(request: Request) -> None:
        if request.path.endswith("/status") and b"Succeeded" in request.body:
            operated.wire.before = None
            await operated.delete(MPIJOBS[V2], NAME)
            await operated.submit(job(V1))

    old = (await operated.job())["metadata"]["uid"]
    operated.wire.before = replaced
    await operated.kubelet.succeed(launcher)
    await operated.until(lambda: operated.find(MPIJOBS[V2], NAME), lambda found: found and _uid(found) != old)
    await operated.quiet()
    assert await operated.status() == {}


async def test_a_job_that_is_being_deleted_gets_nothing_more(operated: World) -> None:
    raw = job(V1)
    raw["metadata"]["finalizers"] = ["springtide.dev/test"]
    await operated.submit(raw)
    await operated.until_workers(0, 1)
    await operated.quiet()
    await operated.delete(MPIJOBS[V2], NAME)
    mark = len(operated.wire.writes)
    await operated.client.delete(PODS, operated.key(f"{NAME}-worker-0"), DeleteOptions(grace=0))
    await operated.quiet()
    assert operated.wire.written()[mark:] == []
    await operated.patch({"metadata": {"finalizers": None}})


async def test_other_namespaces_are_not_looked_at(operated: World) -> None:
    other = Key("", f"{operated.namespace}-other")
    await operated.client.create(NAMESPACES, NAMESPACES.describe(other))
    raw = job(V1)
    raw["metadata"]["namespace"] = other.name
    await operated.client.create(MPIJOBS[V1], raw)
    await operated.submit(job(V1))
    await operated.until_workers(0, 1)
    await operated.quiet()
    assert not any(other.name in write.path for write in operated.wire.writes)
    assert not any(f"/{other.name}/" in path for path in operated.wire.reads)
    assert "status" not in await operated.client.get(MPIJOBS[V1], Key(other.name, NAME))


@pytest.mark.parametrize("api_server", ["embedded"], indirect=True)
async def test_without_a_namespace_all_are_served(world: World) -> None:
    """Only where no other test's jobs are about."""
    await world.submit(job(V1))
    await world.start(namespace="")
    await world.workers_run(2)
    await world.launcher_runs()
    await world.until_condition("Running")


def _uid(found: Obj) -> str:
    return str(found["metadata"]["uid"])


async def _collect(world: World, resource: Resource, owner: str) -> None:
    """As the garbage collector does."""
    for name, found in (await world.all_of(resource)).items():
        if any(each["uid"] == owner for each in found["metadata"].get("ownerReferences", ())):
            await world.client.delete(resource, world.key(name), DeleteOptions(grace=0))
