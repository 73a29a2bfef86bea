# SPDX-License-Identifier: Apache-2.0
"""Claims find their volumes, wait, and are held while in use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.controller_manager_basics.cluster_client import NODE, World, a_cluster

from springtide.kube.request import DeleteOptions
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES, Obj


async def a_volume(world: World, name: str, size: str = "1Gi", **spec: object) -> Obj:
    content = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "storageClassName": "manual",
        **spec,
    }
    return await world.create(PERSISTENTVOLUMES, name, spec=content)


async def a_claim(world: World, name: str = "c", storage_class: str = "manual", **spec: object) -> Obj:
    content = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class,
        **spec,
    }
    return await world.create(PERSISTENTVOLUMECLAIMS, name, spec=content)


def phase(name: str) -> Callable[[Obj], bool]:
    return lambda obj: bool(obj["status"].get("phase") == name)


async def test_a_claim_gets_the_smallest_volume_that_fits(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_volume(world, "large", "5Gi")
        await a_volume(world, "small", "500Mi")
        await a_volume(world, "medium", "2Gi")
        for name in ("large", "small", "medium"):
            await world.until_object(PERSISTENTVOLUMES, name, phase("Available"))
        await a_claim(world)
        claim = await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Bound"))
        volume = await world.get(PERSISTENTVOLUMES, "medium")
        assert claim["spec"]["volumeName"] == "medium"
        assert claim["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"},
        }
        assert claim["metadata"]["annotations"] == {
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
        }
        assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert volume["status"]["phase"] == "Bound"


async def test_a_volume_that_comes_later_is_taken(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_claim(world)
        await a_volume(world, "v")
        await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Bound"))


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_a_volume_is_released_when_its_claim_goes(tmp_path: Path, policy: str) -> None:
    async with a_cluster(tmp_path) as world:
        await a_volume(world, "v", persistentVolumeReclaimPolicy=policy)
        await a_claim(world)
        await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Bound"))
        await world.delete(PERSISTENTVOLUMECLAIMS, "c")
        await world.until_gone(PERSISTENTVOLUMECLAIMS, "c")
        await world.until_object(PERSISTENTVOLUMES, "v", phase("Released"))
        await a_claim(world, "other")
        await world.patch(PERSISTENTVOLUMES, "v", {"spec": {"claimRef": None}})
        await world.until_object(PERSISTENTVOLUMECLAIMS, "other", phase("Bound"))


async def test_a_reserved_volume_goes_to_nobody_else(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_volume(world, "v", claimRef={"namespace": world.namespace, "name": "mine"})
        await a_claim(world, "other")
        await world.until_object(PERSISTENTVOLUMES, "v", phase("Available"))
        await a_claim(world, "mine")
        await world.until_object(PERSISTENTVOLUMECLAIMS, "mine", phase("Bound"))
        assert (await world.get(PERSISTENTVOLUMECLAIMS, "other"))["status"]["phase"] == "Pending"


async def test_a_claim_whose_volume_vanishes_is_lost(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_volume(world, "v")
        await a_claim(world)
        await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Bound"))
        await world.delete(PERSISTENTVOLUMES, "v")
        await world.until_object(PERSISTENTVOLUMES, "v", lambda volume: "deletionTimestamp" in volume["metadata"])
        await world.patch(PERSISTENTVOLUMES, "v", {"metadata": {"finalizers": []}})
        await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Lost"))
        assert await world.until_event("ClaimLost") == (
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        )


@pytest.mark.parametrize(
    ("mode", "reason", "message"),
    [
        ("WaitForFirstConsumer", "WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        (
            "Immediate",
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external provisioner 'example.com/maker' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered.",
        ),
    ],
)
async def test_a_claim_without_a_volume_says_what_it_waits_for(
    tmp_path: Path, mode: str, reason: str, message: str
) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(STORAGECLASSES, "dynamic", provisioner="example.com/maker", volumeBindingMode=mode)
        await a_claim(world, storage_class="dynamic")
        assert await world.until_event(reason) == message
        claim = await world.get(PERSISTENTVOLUMECLAIMS, "c")
        assert claim["status"] == {"phase": "Pending"}
        marked = "volume.kubernetes.io/storage-provisioner" in claim["metadata"].get("annotations", {})
        assert marked == (mode == "Immediate")


async def test_a_claim_in_use_waits_for_its_pod(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_volume(world, "v")
        await a_claim(world)
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
        containers = [{"name": "c", "image": "i"}]
        await world.create(PODS, "user", spec={"nodeName": NODE, "containers": containers, "volumes": volumes})
        await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Bound"))
        await world.delete(PERSISTENTVOLUMECLAIMS, "c")
        claim = await world.get(PERSISTENTVOLUMECLAIMS, "c")
        assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        await world.client.delete(PODS, world.key(PODS, "user"), DeleteOptions(grace=0))
        await world.until_gone(PERSISTENTVOLUMECLAIMS, "c")
        await world.until_object(PERSISTENTVOLUMES, "v", phase("Released"))
        await world.delete(PERSISTENTVOLUMES, "v")
        await world.until_gone(PERSISTENTVOLUMES, "v")


async def test_a_pod_s_own_claim_comes_and_goes_with_it(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_volume(world, "v")
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "manual",
        }
        volumes = [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}]
        containers = [{"name": "c", "image": "i"}]
        await world.create(PODS, "user", spec={"nodeName": NODE, "containers": containers, "volumes": volumes})
        await world.until_object(PERSISTENTVOLUMECLAIMS, "user-data", phase("Bound"))
        await world.client.delete(PODS, world.key(PODS, "user"), DeleteOptions(grace=0))
        await world.until_gone(PERSISTENTVOLUMECLAIMS, "user-data")
