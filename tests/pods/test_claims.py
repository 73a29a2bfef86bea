# SPDX-License-Identifier: Apache-2.0
"""Storage that outlives pods."""

from __future__ import annotations

from tests.pods.manifests import mount, pod, sh
from tests.pods.spaces import Space, condition

from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, Key, Obj

VOLUME = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}


def claim(name: str = "data", **spec: object) -> Obj:
    resources = {"requests": {"storage": "1Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec},
    }


def user(name: str, script: str, **fields: object) -> Obj:
    return pod(sh(script, volumeMounts=[mount("v", "/data", **fields)]), name=name, volumes=[VOLUME])


async def test_a_claim_gets_a_volume_that_pods_pass_on(space: Space) -> None:
    await space.create(claim(), resource=PERSISTENTVOLUMECLAIMS)
    assert await space.run(user("writer", "echo kept > /data/file")) == ""
    await space.delete("writer")
    assert await space.run(user("reader", "cat /data/file; echo x 2>&1 >> /data/file", readOnly=True)) != ""
    assert (await space.log("reader")).startswith("kept\n")
    assert "Read-only file system" in await space.log("reader")
    seen = await space.client.get(PERSISTENTVOLUMECLAIMS, space.key("data"))
    assert seen["status"]["phase"] == "Bound"


async def test_a_claim_s_volume_can_be_shared_at_the_same_time(space: Space) -> None:
    await space.create(claim(), resource=PERSISTENTVOLUMECLAIMS)
    waiting = "while [ ! -e /data/file ]; do sleep 0.05; done; cat /data/file"
    await space.create(user("reader", waiting))
    await space.create(user("writer", "echo shared > /data/new; mv /data/new /data/file"))
    await space.ended("reader")
    assert await space.log("reader") == "shared\n"


async def test_a_claim_may_name_its_volume(space: Space) -> None:
    name = f"pv-{space.name}"
    spec = {"capacity": {"storage": "1Mi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": "/tmp"}}
    spec |= {"persistentVolumeReclaimPolicy": "Retain", "storageClassName": ""}
    await space.client.create(PERSISTENTVOLUMES, PERSISTENTVOLUMES.describe(Key("", name)) | {"spec": spec})
    try:
        named = claim(volumeName=name, storageClassName="", accessModes=["ReadWriteMany"])
        await space.create(named, resource=PERSISTENTVOLUMECLAIMS)
        script = f"echo there > /data/{name}; cat /data/{name}; rm /data/{name}"
        assert await space.run(user("p", script)) == "there\n"
    finally:
        await space.client.delete(PERSISTENTVOLUMES, Key("", name))


async def test_a_pod_waits_for_its_claim(space: Space) -> None:
    await space.create(user("p", "echo ran"))
    seen = await space.until("p", lambda seen: "message" in condition(seen, "PodScheduled"))
    assert 'persistentvolumeclaim "data" not found' in condition(seen, "PodScheduled")["message"]
    await space.create(claim(), resource=PERSISTENTVOLUMECLAIMS)
    await space.ended()
    assert await space.log() == "ran\n"


async def test_a_pod_may_bring_its_own_claim(space: Space) -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}
    main = sh("echo own > /data/x; cat /data/x", volumeMounts=[mount("v", "/data")])
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}
    assert await space.run(pod(main, volumes=[volume])) == "own\n"
    assert (await space.client.get(PERSISTENTVOLUMECLAIMS, space.key("p-v")))["status"]["phase"] == "Bound"
