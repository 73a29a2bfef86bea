# SPDX-License-Identifier: Apache-2.0
"""Claims of the default storage class get a directory, and take it with them."""

from __future__ import annotations

from pathlib import Path

from tests.integration.controller_manager_basics.cluster_client import NODE, World, a_cluster
from tests.integration.controller_manager_basics.test_volumes_live import phase

from springtide.kube.resources import EVENTS, NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES, Obj


async def a_claim(world: World, **spec: object) -> Obj:
    await world.until_object(STORAGECLASSES, "local")
    content = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return await world.create(PERSISTENTVOLUMECLAIMS, "c", spec=content)


async def bound(world: World) -> tuple[Obj, Path]:
    claim = await world.until_object(PERSISTENTVOLUMECLAIMS, "c", phase("Bound"))
    volume = await world.get(PERSISTENTVOLUMES, claim["spec"]["volumeName"])
    return volume, Path(volume["spec"]["hostPath"]["path"])


async def test_a_claim_gets_a_directory_and_takes_it_along(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        claim = await a_claim(world)
        volume, directory = await bound(world)
        assert claim["spec"]["storageClassName"] == "local"
        assert directory == tmp_path / "volumes" / f"pvc-{claim['metadata']['uid']}"
        assert directory.is_dir()
        assert await world.until_event("ProvisioningSucceeded") == (
            f"Successfully provisioned volume {volume['metadata']['name']}"
        )
        (directory / "deep" / "er").mkdir(parents=True)
        (directory / "deep" / "er" / "file").write_text("x")
        (directory / "deep").chmod(0o500)
        kept = tmp_path / "kept"
        kept.mkdir()
        (directory / "away").symlink_to(kept)
        await world.delete(PERSISTENTVOLUMECLAIMS, "c")
        await world.until_gone(PERSISTENTVOLUMES, volume["metadata"]["name"])
        assert not directory.exists()
        assert kept.is_dir()


async def test_a_retained_volume_keeps_its_directory(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(STORAGECLASSES, "kept", provisioner="springtide.dev/local", reclaimPolicy="Retain")
        await a_claim(world, storageClassName="kept")
        volume, directory = await bound(world)
        await world.delete(PERSISTENTVOLUMECLAIMS, "c")
        await world.until_object(PERSISTENTVOLUMES, volume["metadata"]["name"], phase("Released"))
        await world.delete(PERSISTENTVOLUMES, volume["metadata"]["name"])
        await world.until_gone(PERSISTENTVOLUMES, volume["metadata"]["name"])
        assert directory.is_dir()


async def test_a_class_that_waits_for_a_pod_waits(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        mode = "WaitForFirstConsumer"
        await world.create(STORAGECLASSES, "later", provisioner="springtide.dev/local", volumeBindingMode=mode)
        await a_claim(world, storageClassName="later")
        await world.until_event("WaitForFirstConsumer")
        chosen = {"volume.kubernetes.io/selected-node": "n1"}
        await world.patch(PERSISTENTVOLUMECLAIMS, "c", {"metadata": {"annotations": chosen}})
        await bound(world)


async def test_a_deleted_class_does_not_come_back(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.until_object(STORAGECLASSES, "local")
        await world.delete(STORAGECLASSES, "local")
        await world.delete(NODES, NODE)
    async with a_cluster(tmp_path, "again") as world:
        await world.create(STORAGECLASSES, "other", provisioner="springtide.dev/local")
        await a_claim_of(world, "other")
        await bound(world)
        assert await world.find(STORAGECLASSES, "local") is None


async def a_claim_of(world: World, storage_class: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await world.create(PERSISTENTVOLUMECLAIMS, "c", spec=spec | {"storageClassName": storage_class})


async def test_a_volume_that_only_pretends_is_not_erased(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    async with a_cluster(tmp_path / "data") as world:
        await world.create(
            PERSISTENTVOLUMES,
            "pvc-forged",
            metadata={"annotations": {"pv.kubernetes.io/provisioned-by": "springtide.dev/local"}},
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": str(tmp_path / "precious")},
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"namespace": world.namespace, "name": "gone", "uid": "u"},
            },
        )

        async def complaints() -> list[Obj]:
            return [
                event for event in (await world.client.list(EVENTS)).items if event["reason"] == "VolumeFailedDelete"
            ]

        (complaint,) = await world.until(complaints)
        assert "nothing was erased" in complaint["message"]
        assert (tmp_path / "precious").is_dir()


async def test_a_block_device_is_refused_with_a_reason(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await a_claim(world, volumeMode="Block")
        message = await world.until_event("ProvisioningFailed")
        assert message.startswith('failed to provision volume with StorageClass "local": ')
