# SPDX-License-Identifier: Apache-2.0
"""The operator's mirror pods: on one node, back when deleted, with a restart for every operator that died."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import agents, kill, own_user, until

from springtide.api.mirror_pods import is_mirror
from springtide.kube.client import Client
from springtide.kube.errors import NotFound
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import NAMESPACES, PODS, Key, Obj
from springtide.local.datadir import DataDir

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")

UP = ("up", "-d", "--port", "0", "--node", "a=cpu:2", "--node", "b=cpu:2")
LABELS = ("tf-job-operator", "pytorch-operator", "mpi-operator")


def everywhere(node: str) -> set[str]:
    return {f"{label}-{node}" for label in LABELS}


async def listed(place: DataDir) -> dict[str, Obj]:
    async with await Client.connect(str(place.kubeconfig)) as client:
        return {pod["metadata"]["name"]: pod for pod in (await client.list(PODS)).items if is_mirror(pod)}


def mirrors(place: DataDir) -> dict[str, Obj]:
    return asyncio.run(listed(place))


def wait_for(place: DataDir, node: str, so: Callable[[Obj], object]) -> dict[str, Obj]:
    """The mirror pods, once they are those of this node and each is as asked for."""
    until(lambda: (found := mirrors(place)).keys() == everywhere(node) and all(map(so, found.values())))
    return mirrors(place)


def container(pod: Obj) -> Obj:
    (status,) = pod.get("status", {}).get("containerStatuses") or ({},)
    return dict(status)


def is_up(pod: Obj) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running" and container(pod)["ready"])


async def delete(place: DataDir, name: str) -> None:
    async with await Client.connect(str(place.kubeconfig)) as client:
        await client.delete(PODS, Key("kubeflow", name))


async def replace_namespace(place: DataDir) -> None:
    """Returns when the namespace was gone and is there again: mirror pods are in nobody's way."""
    async with await Client.connect(str(place.kubeconfig)) as client:
        await client.delete(NAMESPACES, Key("", "kubeflow"), DeleteOptions())
        deadline = time.monotonic() + 20
        while await client.find(NAMESPACES, Key("", "kubeflow")) is not None:
            assert time.monotonic() < deadline, "the namespace is still there"
            await asyncio.sleep(0.1)
        with pytest.raises(NotFound):
            await client.get(PODS, Key("kubeflow", "tf-job-operator-a"))
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", "kubeflow")))


def test_a_mirror_pod_outlives_operators_and_comes_back_when_deleted(tide: Tide) -> None:
    tide.ok(*UP)
    place = tide.place()
    before = wait_for(place, "a", is_up)
    kill(place.operator_process())
    after = wait_for(place, "a", lambda pod: is_up(pod) and container(pod)["restartCount"] == 1)
    for name, pod in after.items():
        assert pod["metadata"]["uid"] == before[name]["metadata"]["uid"]
        assert container(pod)["lastState"]["terminated"]["exitCode"] == 137
    kill(agents(place)["a"])
    name = "tf-job-operator-a"
    asyncio.run(delete(place, name))
    until(lambda: mirrors(place).get(name, before[name])["metadata"]["uid"] != before[name]["metadata"]["uid"])
    asyncio.run(replace_namespace(place))
    wait_for(place, "a", lambda pod: is_up(pod) and container(pod)["restartCount"] == 1)
    assert not list(place.pods.glob("*")), "no process is started for them"


@own_user
def test_mirror_pods_move_from_a_node_that_is_removed(tide: Tide) -> None:
    tide.ok(*UP)
    place = tide.place()
    wait_for(place, "a", is_up)
    tide.ok("node", "remove", "a")
    wait_for(place, "b", is_up)
    assert "0/" in tide.ok("node", "list")
    tide.ok("node", "remove", "b")
    until(lambda: not mirrors(place))
    tide.ok("node", "add", "c")
    wait_for(place, "c", is_up)


@own_user
def test_the_next_supervisor_keeps_mirror_pods_only_if_it_runs_an_operator(tide: Tide) -> None:
    tide.ok(*UP)
    place = tide.place()
    wait_for(place, "a", is_up)
    tide.kill(place)
    tide.ok("up", "-d")
    found = wait_for(place, "a", lambda pod: is_up(pod) and container(pod)["restartCount"] == 1)
    for pod in found.values():
        assert container(pod)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    tide.ok("down")
    tide.ok("up", "-d", "--no-operator")
    until(lambda: not mirrors(place))
