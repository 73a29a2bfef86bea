# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.admission.builders import World, a_pod, a_request

from springtide.local.admission.nodes import DefaultTolerations, TaintNewNodes
from springtide.local.admission.storage import CLASSES, ClaimResize, DefaultStorageClass, ProtectInUse
from springtide.local.status import StatusError

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"key": NOT_READY, "effect": "NoExecute", "tolerationSeconds": 5}], [UNREACHABLE]),
        ([{"key": NOT_READY, "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
    ids=["none", "everything", "one of two", "another effect"],
)
async def test_a_pod_tolerates_a_silent_node_for_five_minutes(own: list[Any], added: list[str]) -> None:
    pod = a_pod(tolerations=own)
    await DefaultTolerations().admit(a_request(pod))
    expected = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in added]
    assert pod["spec"]["tolerations"] == own + expected


@pytest.mark.parametrize("own", [[], [{"key": NOT_READY, "effect": "NoSchedule"}]], ids=["clean", "tainted"])
async def test_a_new_node_starts_tainted_once(own: list[Any]) -> None:
    node: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"taints": own}}
    await TaintNewNodes().admit(a_request(node, "nodes", "Node"))
    assert node["spec"]["taints"] == [{"key": NOT_READY, "effect": "NoSchedule"}]


def a_claim(size: str = "1Gi", phase: str = "Pending", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"resources": {"requests": {"storage": size}}, **spec},
        "status": {"phase": phase},
    }


def a_storage_class(name: str, created: str = "2026-01-01T00:00:00Z", **fields: Any) -> tuple[str, dict[str, Any]]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return CLASSES, {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}, **fields}


def claim_request(claim: dict[str, Any], **more: Any) -> Any:
    return a_request(claim, "persistentvolumeclaims", "PersistentVolumeClaim", **more)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({}, "newer"), ({"storageClassName": ""}, ""), ({"storageClassName": "own"}, "own")],
    ids=["silent", "none wanted", "named"],
)
async def test_a_claim_gets_the_newest_default_class_if_it_does_not_say(spec: dict[str, Any], expected: str) -> None:
    world = World(a_storage_class("older"), a_storage_class("newer", "2026-02-01T00:00:00Z"))
    claim = a_claim(**spec)
    await DefaultStorageClass(world).admit(claim_request(claim))
    assert claim["spec"]["storageClassName"] == expected


async def test_without_a_default_class_nothing_is_filled_in() -> None:
    claim = a_claim()
    await DefaultStorageClass(World()).admit(claim_request(claim))
    assert "storageClassName" not in claim["spec"]


async def test_claims_and_volumes_are_protected_while_in_use() -> None:
    claim, volume = a_claim(), {"metadata": {"name": "v", "finalizers": ["kubernetes.io/pv-protection"]}}
    await ProtectInUse().admit(claim_request(claim))
    await ProtectInUse().admit(a_request(volume, "persistentvolumes", "PersistentVolume"))
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]


async def test_a_bound_claim_grows_if_its_class_allows_it() -> None:
    world = World(a_storage_class("fast", allowVolumeExpansion=True))
    new, old = (a_claim(size, "Bound", storageClassName="fast") for size in ("2Gi", "1Gi"))
    await ClaimResize(world).admit(claim_request(new, operation="UPDATE", old=old))


@pytest.mark.parametrize(
    ("phase", "allowed", "complaint"),
    [
        ("Pending", True, "Only bound persistent volume claims can be expanded"),
        (
            "Bound",
            False,
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            "support resize",
        ),
    ],
)
async def test_other_claims_do_not_grow(phase: str, allowed: bool, complaint: str) -> None:
    world = World(a_storage_class("fast", allowVolumeExpansion=allowed))
    new, old = (a_claim(size, phase, storageClassName="fast") for size in ("2Gi", "1024Mi"))
    with pytest.raises(StatusError) as refused:
        await ClaimResize(world).admit(claim_request(new, operation="UPDATE", old=old))
    assert refused.value.message == f'persistentvolumeclaims "data" is forbidden: {complaint}'
