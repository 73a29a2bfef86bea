# SPDX-License-Identifier: Apache-2.0
"""Which claims get a directory, and which directories may be erased."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.kube.resources import Obj
from springtide.local.controller_manager.storage import provisioning

VOLUMES = Path("/data/volumes")
ASKED = {"volume.kubernetes.io/storage-provisioner": "springtide.dev/local"}
CHOSEN = {"volume.kubernetes.io/selected-node": "n"}


def a_claim(annotations: Obj | None = None, **spec: Any) -> Obj:
    content = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "local",
    }
    metadata = {"name": "c", "namespace": "ns", "uid": "u1", "resourceVersion": "7", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": content | spec, "status": {"phase": "Pending"}}


def a_class(provisioner: str = "springtide.dev/local", mode: str = "Immediate", **more: Any) -> Obj:
    return {"metadata": {"name": "local"}, "provisioner": provisioner, "volumeBindingMode": mode, **more}


@pytest.mark.parametrize(
    ("claim", "found", "expected"),
    [
        pytest.param(a_claim(ASKED), a_class(), True, id="asked for"),
        pytest.param(a_claim(), a_class(), False, id="not asked for yet"),
        pytest.param(a_claim(ASKED), None, False, id="no class"),
        pytest.param(a_claim(ASKED), a_class("example.com/other"), False, id="somebody else's class"),
        pytest.param(a_claim(ASKED, volumeName="v"), a_class(), False, id="has one"),
        pytest.param(a_claim(ASKED), a_class(mode="WaitForFirstConsumer"), False, id="waits for a pod"),
        pytest.param(a_claim(ASKED | CHOSEN), a_class(mode="WaitForFirstConsumer"), True, id="its pod has a node"),
    ],
)
def test_who_gets_a_volume(claim: Obj, found: Obj | None, expected: bool) -> None:
    assert provisioning.wants_volume(claim, found) is expected


def test_the_volume_is_the_claims_from_the_beginning() -> None:
    found = provisioning.volume(a_claim(ASKED), a_class(reclaimPolicy="Retain"), VOLUMES / "pvc-u1")
    assert found["metadata"] == {
        "name": "pvc-u1",
        "annotations": {"pv.kubernetes.io/provisioned-by": "springtide.dev/local"},
        "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"],
    }
    assert found["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "ns",
            "name": "c",
            "uid": "u1",
            "resourceVersion": "7",
        },
        "hostPath": {"path": "/data/volumes/pvc-u1", "type": "DirectoryOrCreate"},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "local",
        "volumeMode": "Filesystem",
    }


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ({}, ""),
        ({"volumeMode": "Block"}, "block"),
        ({"dataSource": {"name": "x"}}, "source"),
        ({"selector": {"a": 1}}, "S"),
    ],
)
def test_what_a_directory_cannot_be(spec: Obj, word: str) -> None:
    refusal = provisioning.refusal(a_claim(**spec))
    assert bool(refusal) == bool(word)
    assert word in refusal


SYSTEM: Obj = {"metadata": {"name": "kube-system"}}
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
OTHER = {"metadata": {"name": "fast", "annotations": DEFAULT, "creationTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("classes", "system", "expected"),
    [
        pytest.param([], SYSTEM, True, id="none there"),
        pytest.param([OTHER], SYSTEM, False, id="another default"),
        pytest.param([{"metadata": {"name": "fast"}}], SYSTEM, True, id="another that is no default"),
        pytest.param([{"metadata": {"name": "local"}}], SYSTEM, False, id="there, and no default"),
        pytest.param(
            [], {"metadata": {"annotations": {provisioning.INSTALLED: "true"}}}, False, id="deleted by its user"
        ),
    ],
)
def test_when_the_class_is_made(classes: list[Obj], system: Obj, expected: bool) -> None:
    assert provisioning.wants_class(classes, system) is expected


def a_volume(
    name: str = "pvc-u1", path: str = "/data/volumes/pvc-u1", policy: str = "Delete", phase: str = "Released"
) -> Obj:
    return {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "springtide.dev/local"}},
        "spec": {"hostPath": {"path": path}, "persistentVolumeReclaimPolicy": policy},
        "status": {"phase": phase},
    }


def test_when_a_volume_is_over() -> None:
    assert provisioning.is_over(a_volume())
    assert not provisioning.is_over(a_volume(policy="Retain"))
    assert not provisioning.is_over(a_volume(phase="Bound"))
    strange = a_volume()
    strange["metadata"]["annotations"] = {}
    assert not provisioning.is_over(strange)


def test_only_the_volumes_own_directory_may_be_erased() -> None:
    assert provisioning.erasable(a_volume(), VOLUMES) == VOLUMES / "pvc-u1"
    for path in ("/", "/data/volumes", "/data/volumes/../../etc", "/data/volumes/pvc-u2", "/data/volumes/pvc-u1/x", ""):
        assert provisioning.erasable(a_volume(path=path), VOLUMES) is None
    assert provisioning.erasable(a_volume("mine", "/data/volumes/mine"), VOLUMES) is None


@given(st.text(max_size=20), st.text(max_size=20))
def test_nothing_outside_is_ever_erasable(name: str, path: str) -> None:
    found = provisioning.erasable(a_volume(f"pvc-{name}", f"/data/volumes/{path}"), VOLUMES)
    assert found is None or found == VOLUMES / f"pvc-{name}"
