# SPDX-License-Identifier: Apache-2.0
"""Volumes of a PersistentVolumeClaim: claim → PersistentVolume → a directory of this machine.

Only hostPath and local volumes are supported; every node is this machine, so it does not matter which node they name.
An ephemeral volume is a claim that its pod owns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, Key, Obj

PROTECTION = "kubernetes.io/pvc-protection"


class ClaimError(Exception):
    """The claim has no usable volume yet; the message is kubelet's."""


class Claimed(NamedTuple):
    volume: Obj
    read_only: bool


async def resolve(client: Client, pod: Mapping[str, Any], volume: Mapping[str, Any]) -> Claimed:
    """The PersistentVolume of a pod's `persistentVolumeClaim` or `ephemeral` volume."""
    source = volume.get("persistentVolumeClaim")
    namespace = pod["metadata"]["namespace"]
    name = source["claimName"] if source else f"{pod['metadata']['name']}-{volume['name']}"
    try:
        claim = await _claim(client, Key(namespace, name))
        if source is None:
            _must_be_owned(claim, pod)
        found = await _volume(client, claim["spec"]["volumeName"], claim["metadata"]["uid"])
    except ClaimError as error:
        raise ClaimError(f"error processing PVC {namespace}/{name}: {error}") from None
    return Claimed(found, bool((source or {}).get("readOnly")))


async def _claim(client: Client, key: Key) -> Obj:
    try:
        claim = await client.get(PERSISTENTVOLUMECLAIMS, key)
    except errors.ApiError as error:
        raise ClaimError(f"failed to fetch PVC from API server: {error}") from None
    metadata = claim["metadata"]
    if metadata.get("deletionTimestamp") and PROTECTION not in (metadata.get("finalizers") or ()):
        raise ClaimError("PVC is being deleted")
    if (claim.get("status") or {}).get("phase") != "Bound":
        raise ClaimError("PVC is not bound")
    if not claim["spec"].get("volumeName"):
        raise ClaimError("PVC has empty pvc.Spec.VolumeName")
    return claim


def _must_be_owned(claim: Obj, pod: Mapping[str, Any]) -> None:
    owners = claim["metadata"].get("ownerReferences") or ()
    if not any(owner.get("controller") and owner.get("uid") == pod["metadata"]["uid"] for owner in owners):
        names = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        raise ClaimError(f"PVC {names} was not created for pod {Key.of(pod)} (pod is not owner)")


async def _volume(client: Client, name: str, claim_uid: str) -> Obj:
    try:
        found = await client.get(PERSISTENTVOLUMES, Key("", name))
    except errors.ApiError as error:
        raise ClaimError(f"failed to fetch PV {name} from API server: {error}") from None
    claimed_by = found["spec"].get("claimRef")
    if claimed_by is None:
        raise ClaimError(
            f"found PV object {name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        )
    if claimed_by.get("uid") != claim_uid:
        raise ClaimError(
            f"found PV object {name} but its pv.Spec.ClaimRef.UID {claimed_by.get('uid', '')} "
            f"does not point to claim.UID {claim_uid}"
        )
    return found


def directory_of(volume: Mapping[str, Any]) -> Mapping[str, Any]:
    """The hostPath source that is equivalent to a PersistentVolume."""
    spec = volume["spec"]
    if spec.get("volumeMode") == "Block":
        raise ClaimError(
            f"PersistentVolume {volume['metadata']['name']} is a block device; only directories can be mounted"
        )
    if source := spec.get("hostPath"):
        found: Mapping[str, Any] = source
        return found
    if source := spec.get("local"):
        if not Path(source["path"]).exists():
            raise ClaimError(f'path "{source["path"]}" does not exist')
        return {"path": source["path"]}
    about = ("capacity", "claimRef", "nodeAffinity")
    kind = next((name for name in spec if isinstance(spec[name], dict) and name not in about), "unknown")
    raise ClaimError(
        f"PersistentVolume {volume['metadata']['name']} is of a type that this node cannot mount ({kind}); "
        "it supports hostPath and local"
    )
