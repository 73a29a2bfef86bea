# SPDX-License-Identifier: Apache-2.0
"""The operator beside the cluster: there when wanted, back when killed, gone when the cluster is."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import documents
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import kill, own_user, processes, until

from springtide.api.kinds.registry import RESOURCES
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.errors import Forbidden
from springtide.kube.request import Patch
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, PODS, Key, Resource
from springtide.local.datadir import DataDir

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")

MPIJOBS = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")
MPIJOBS_OVER_SSH = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")


def operators(place: DataDir) -> set[int]:
    return {pid for pid, words in processes(place).items() if "operator" in words}


async def submit(place: DataDir, name: str, resource: Resource = MPIJOBS) -> None:
    job = yaml.safe_load((documents.MANIFESTS / "tensorflow-mnist-hvd.yaml").read_text())
    job |= {"apiVersion": resource.api_version, "metadata": {"name": name, "namespace": "kubeflow"}}
    async with await Client.connect(str(place.kubeconfig)) as client:
        await client.create(resource, job)


async def pods(place: DataDir, name: str) -> list[str]:
    async with await Client.connect(str(place.kubeconfig)) as client:
        found = (await client.list(PODS)).items
    return [pod["metadata"]["name"] for pod in found if pod["metadata"]["name"].startswith(f"{name}-")]


def is_served(place: DataDir, name: str) -> bool:
    return bool(asyncio.run(pods(place, name)))


def test_jobs_are_accepted_at_once_and_served_soon(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    asyncio.run(submit(place, "first"))
    until(partial(is_served, place, "first"))
    assert operators(place) == {place.operator_process()}
    assert f"runs as process {place.operator_process()}" in tide.ok("status")
    assert stat.S_IMODE((place.operator / "kubeconfig").stat().st_mode) == 0o600
    tide.ok("down", "--grace", "0")
    assert not operators(place)
    assert place.operator_process() is None


@own_user
def test_its_rights_are_enough_and_no_more_than_that(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    for name, resource in (("first", MPIJOBS), ("second", MPIJOBS_OVER_SSH)):
        asyncio.run(submit(place, name, resource))
        until(partial(is_served, place, name))

    async def create_namespace() -> None:
        async with await Client.connect(str(place.operator / "kubeconfig")) as client:
            await client.create(NAMESPACES, NAMESPACES.describe(Key("", "another")))

    with pytest.raises(Forbidden):
        asyncio.run(create_namespace())
    tide.ok("down", "--grace", "0")
    assert "forbidden" not in place.operator_log.read_text().lower()


@own_user
def test_an_operator_that_is_killed_comes_back(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    until(place.operator_process)
    before = place.operator_process()
    kill(before)
    until(lambda: place.operator_process() not in (None, before))
    asyncio.run(submit(place, "after"))
    until(partial(is_served, place, "after"))


async def judged(place: DataDir) -> bool:
    """Whether a size that the launcher's command line does not allow is refused."""
    job = yaml.safe_load((documents.MANIFESTS / "tensorflow-mnist-elastic.yaml").read_text())
    job["metadata"] = {"generateName": "too-large-", "namespace": "kubeflow"}
    job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 9
    async with await Client.connect(str(place.kubeconfig)) as client:
        try:
            await client.create(MPIJOBS, job, query={"dryRun": "All"})
        except errors.Invalid:
            return True
    return False


@own_user
def test_wrong_jobs_are_refused_and_a_killed_operator_is_in_nobodys_way(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    until(lambda: asyncio.run(judged(place)))
    before = place.operator_process()
    kill(before)
    asyncio.run(submit(place, "meanwhile"))
    until(partial(is_served, place, "meanwhile"))
    until(lambda: asyncio.run(judged(place)))


@own_user
def test_an_operator_outlives_a_server_that_is_killed(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    asyncio.run(submit(place, "before"))
    until(partial(is_served, place, "before"))
    operator, server = place.operator_process(), place.server_process()
    kill(server)
    until(lambda: place.server_process() not in (None, server))
    asyncio.run(submit(place, "after"))
    until(partial(is_served, place, "after"))
    assert place.operator_process() == operator


def test_an_operator_goes_with_a_killed_supervisor(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    until(place.operator_process)
    tide.kill(place)
    until(lambda: not operators(place) and place.operator_process() is None)


@own_user
@pytest.mark.parametrize("flag", ["--no-operator", "--no-nodes"])
def test_a_cluster_without_an_operator_accepts_jobs_all_the_same(tide: Tide, flag: str) -> None:
    tide.ok("up", "-d", "--port", "0", flag)
    place = tide.place()
    asyncio.run(submit(place, "waits"))
    assert not operators(place)
    assert not is_served(place, "waits")


@own_user
def test_a_cluster_without_an_operator_can_be_given_one(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-operator")
    place = tide.place()
    assert "operator     does not run" in tide.ok("status")
    asyncio.run(submit(place, "waits"))
    with tide.start("operator", "--kubeconfig", str(place.kubeconfig)) as own:
        until(partial(is_served, place, "waits"))
        own.terminate()
        own.communicate(timeout=60)
    assert own.returncode == 0


AS_AN_EARLIER_VERSION = {"Impersonate-User": "system:springtide", "Impersonate-Group": "system:masters"}
"""Nobody else changes a definition that is built in."""


async def spoil(place: DataDir) -> None:
    """As an earlier version might have left things, and somebody who cleans up."""
    resource = RESOURCES[0]
    async with await Client.connect(str(place.kubeconfig)) as client:
        await client.delete(NAMESPACES, Key("", "kubeflow"))
        names = {"spec": {"names": {"shortNames": ["old"]}}}
        patch = request.patch(CUSTOMRESOURCEDEFINITIONS, Key("", resource.crd_name), names, Patch.MERGE, "", {})
        await client.raw(replace(patch, headers={**patch.headers, **AS_AN_EARLIER_VERSION}))
        definition = await client.get(CUSTOMRESOURCEDEFINITIONS, Key("", resource.crd_name))
        assert definition["spec"]["names"]["shortNames"] == ["old"]


async def found(place: DataDir) -> tuple[Any, Any]:
    resource = RESOURCES[0]
    async with await Client.connect(str(place.kubeconfig)) as client:
        definition = await client.get(CUSTOMRESOURCEDEFINITIONS, Key("", resource.crd_name))
        return definition["spec"]["names"]["shortNames"], await client.find(NAMESPACES, Key("", "kubeflow"))


@own_user
def test_each_start_brings_definitions_and_namespaces_up_to_date(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-nodes")
    place = tide.place()
    asyncio.run(submit(place, "old"))
    asyncio.run(spoil(place))
    tide.ok("down")
    tide.ok("up", "-d", "--no-nodes")
    names, namespace = asyncio.run(found(place))
    assert names == list(RESOURCES[0].short_names)
    assert namespace is not None
