# SPDX-License-Identifier: Apache-2.0
"""Volumes that are directories of this machine: which claims get one, and which directory may be erased. Pure.

All nodes share one machine and all its paths, so a volume needs no node of its own. Annotations, finalizer, reasons and
messages are those of the provisioners of other Kubernetes clusters.
"""

from __future__ import annotations

from pathlib import Path

from springtide.kube.resources import PERSISTENTVOLUMES, STORAGECLASSES, Key, Obj
from springtide.local.controller_manager.storage.volume_matching import annotations_of, class_of, default_class, mode_of
from springtide.local.controller_manager.storage.volume_plans import PROVISIONED_BY, SELECTED_NODE, claim_reference

PROVISIONER = "springtide.dev/local"
CLASS_NAME = "local"
FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
"""Keeps the object until its directory is gone, whichever client deletes it."""
INSTALLED = "springtide.dev/storage-class-installed"
"""On the namespace kube-system: a class that was deleted later is not recreated."""
_ASKED = "volume.kubernetes.io/storage-provisioner"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_PREFIX = "pvc-"


def storage_class() -> Obj:
    described = STORAGECLASSES.describe(Key("", CLASS_NAME))
    described["metadata"]["annotations"] = {_DEFAULT: "true"}
    return described | {"provisioner": PROVISIONER, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}


def wants_class(classes: list[Obj], system: Obj) -> bool:
    """Whether to create the class; `system` is the namespace kube-system."""
    there = any(found["metadata"]["name"] == CLASS_NAME for found in classes)
    return not there and default_class(classes) is None and INSTALLED not in annotations_of(system)


def wants_volume(claim: Obj, found: Obj | None) -> bool:
    """Whether the claim waits for a volume of this provisioner; `found` is its class."""
    if found is None or found["provisioner"] != PROVISIONER or "deletionTimestamp" in claim["metadata"]:
        return False
    annotations = annotations_of(claim)
    delayed = found.get("volumeBindingMode") == "WaitForFirstConsumer"
    asked = annotations.get(_ASKED) == PROVISIONER and (not delayed or SELECTED_NODE in annotations)
    return asked and not claim["spec"].get("volumeName")


def refusal(claim: Obj) -> str:
    """Why a directory cannot satisfy the claim, or empty."""
    spec = claim["spec"]
    if mode_of(claim) == "Block":
        return f"{PROVISIONER} makes directories, not block devices; ask for volumeMode Filesystem"
    if spec.get("dataSource") or spec.get("dataSourceRef"):
        return f"{PROVISIONER} cannot fill a volume from another source; leave dataSource out and copy the data"
    if spec.get("selector"):
        return "claim Selector is not supported"
    return ""


def volume_name(claim: Obj) -> str:
    return f"{_PREFIX}{claim['metadata']['uid']}"


def volume(claim: Obj, found: Obj, directory: Path) -> Obj:
    """The volume in this directory, already bound to the claim."""
    described = PERSISTENTVOLUMES.describe(Key("", volume_name(claim)))
    described["metadata"] |= {"annotations": {PROVISIONED_BY: PROVISIONER}, "finalizers": [FINALIZER]}
    spec = {
        "accessModes": claim["spec"]["accessModes"],
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "claimRef": claim_reference(claim),
        "hostPath": {"path": str(directory), "type": "DirectoryOrCreate"},
        "mountOptions": found.get("mountOptions"),
        "persistentVolumeReclaimPolicy": found.get("reclaimPolicy") or "Delete",
        "storageClassName": class_of(claim),
        "volumeMode": "Filesystem",
    }
    return described | {"spec": {name: value for name, value in spec.items() if value}}


def is_ours(found: Obj) -> bool:
    return annotations_of(found).get(PROVISIONED_BY) == PROVISIONER


def is_over(found: Obj) -> bool:
    """Whether the volume is released and its contents are to be erased."""
    policy = found["spec"].get("persistentVolumeReclaimPolicy")
    return is_ours(found) and policy == "Delete" and (found.get("status") or {}).get("phase") in ("Released", "Failed")


def is_let_go(found: Obj) -> bool:
    """Whether only the object is to be deleted: its contents are retained."""
    retained = found["spec"].get("persistentVolumeReclaimPolicy") != "Delete"
    return is_ours(found) and retained and "deletionTimestamp" in found["metadata"]


def erasable(found: Obj, volumes: Path) -> Path | None:
    """The volume's directory, if this provisioner created it. No other directory is ever erased."""
    path = (found["spec"].get("hostPath") or {}).get("path", "")
    name = found["metadata"]["name"]
    return volumes / name if name.startswith(_PREFIX) and path == str(volumes / name) else None


def without_finalizer(found: Obj) -> list[str]:
    return [name for name in found["metadata"].get("finalizers") or () if name != FINALIZER]
