# SPDX-License-Identifier: Apache-2.0
"""Which volume a claim gets, and what becomes of both."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.kube.resources import Obj
from springtide.local.controller_manager.storage.volume_matching import (
    best_match,
    class_of,
    default_class,
    has_class,
    mismatch,
)
from springtide.local.controller_manager.storage.volume_plans import (
    ClaimPlan,
    Event,
    Observed,
    VolumePlan,
    bind_claim,
    bind_volume,
    claim_status,
    plan_claim,
    plan_volume,
    unbind_volume,
)
from springtide.local.controller_manager.storage.volume_protection import plan as protect

COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
BY_CONTROLLER = {"pv.kubernetes.io/bound-by-controller": "yes"}
MINE = {"namespace": "ns", "name": "c", "uid": "uid-c"}
RESERVED = {"namespace": "ns", "name": "c"}
OTHERS = {"namespace": "ns", "name": "other", "uid": "uid-other"}


def a_claim(annotations: Obj | None = None, phase: str = "Pending", **spec: Any) -> Obj:
    content = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "manual",
        **spec,
    }
    metadata = {"name": "c", "namespace": "ns", "uid": "uid-c", "resourceVersion": "7"}
    return {
        "metadata": metadata | {"annotations": annotations or {}},
        "spec": {name: value for name, value in content.items() if value is not None},
        "status": {"phase": phase},
    }


def a_volume(
    name: str = "v", size: str = "1Gi", phase: str = "Available", metadata: Obj | None = None, **spec: Any
) -> Obj:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"} | (metadata or {}),
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            **spec,
        },
        "status": {"phase": phase},
    }


def a_class(name: str = "manual", provisioner: str = "example.com/maker", **content: Any) -> Obj:
    return {"metadata": {"name": name}, "provisioner": provisioner, **content}


LABELLED = {"labels": {"disk": "fast"}}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("claim", "volumes", "expected"),
    [
        pytest.param(a_claim(), [], None, id="none there"),
        pytest.param(a_claim(), [a_volume("b", "3Gi"), a_volume("a", "2Gi")], "a", id="the smallest"),
        pytest.param(a_claim(), [a_volume(size="1023Mi")], None, id="too small"),
        pytest.param(
            a_claim(),
            [a_volume("many", accessModes=["ReadWriteOnce", "ReadOnlyMany"]), a_volume("one", "9Gi")],
            "one",
            id="the least able before the smallest",
        ),
        pytest.param(a_claim(), [a_volume(accessModes=["ReadOnlyMany"])], None, id="other access"),
        pytest.param(a_claim(), [a_volume(storageClassName="other")], None, id="another class"),
        pytest.param(a_claim(), [a_volume(volumeMode="Block")], None, id="another mode"),
        pytest.param(a_claim(), [a_volume(phase="Released")], None, id="not available"),
        pytest.param(a_claim(), [a_volume(metadata=DELETED)], None, id="being deleted"),
        pytest.param(a_claim(), [a_volume(claimRef=OTHERS)], None, id="somebody else's"),
        pytest.param(
            a_claim(),
            [a_volume("a"), a_volume("b", "9Gi", claimRef=RESERVED, storageClassName="other", phase="Pending")],
            "b",
            id="the reserved one before all",
        ),
        pytest.param(
            a_claim(selector={"matchLabels": {"disk": "fast"}}),
            [a_volume("a"), a_volume("b", "9Gi", metadata=LABELLED)],
            "b",
            id="by selector",
        ),
    ],
)
def test_the_best_match(claim: Obj, volumes: list[Obj], expected: str | None) -> None:
    found = best_match(claim, volumes)
    assert (None if found is None else found["metadata"]["name"]) == expected


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        (a_volume(), ""),
        (a_volume(metadata=DELETED), 'the volume is marked for deletion "v"'),
        (a_volume(size="1Mi"), "requested PV is too small"),
        (a_volume(storageClassName="x"), "storageClassName does not match"),
        (a_volume(volumeAttributesClassName="x"), "volumeAttributesClassName does not match"),
        (a_volume(volumeMode="Block"), "incompatible volumeMode"),
        (a_volume(accessModes=["ReadOnlyMany"]), "incompatible accessMode"),
    ],
)
def test_why_a_volume_asked_for_by_name_does_not_do(volume: Obj, why: str) -> None:
    assert mismatch(volume, a_claim()) == why


def test_the_old_annotation_for_the_class_wins() -> None:
    claim = a_claim({"volume.beta.kubernetes.io/storage-class": "old"})
    assert class_of(claim) == "old"
    assert has_class(a_claim(storageClassName=""))
    assert not has_class(a_claim(storageClassName=None))


def test_the_newest_default_class_is_the_default() -> None:
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    classes: list[Obj] = [
        {"metadata": {"name": "old", "annotations": mark, "creationTimestamp": "2026-01-01T00:00:00Z"}},
        {"metadata": {"name": "new", "annotations": mark, "creationTimestamp": "2026-01-02T00:00:00Z"}},
        {"metadata": {"name": "plain", "creationTimestamp": "2026-01-03T00:00:00Z"}},
    ]
    found = default_class(classes)
    assert found is not None
    assert found["metadata"]["name"] == "new"
    assert default_class([]) is None


LOST = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
FREE, HELD, TAKEN, SMALL = a_volume(), a_volume(claimRef=MINE), a_volume(claimRef=OTHERS), a_volume(size="1Mi")
WAITING = a_class(volumeBindingMode="WaitForFirstConsumer")


def pending(kind: str, reason: str, message: str) -> ClaimPlan:
    return ClaimPlan(phase="Pending", event=Event(kind, reason, message))


@pytest.mark.parametrize(
    ("claim", "volume", "storage_class", "expected"),
    [
        pytest.param(a_claim(), FREE, None, ClaimPlan(bind=FREE), id="found"),
        pytest.param(a_claim(volumeName="v"), FREE, None, ClaimPlan(bind=FREE), id="named and free"),
        pytest.param(a_claim(volumeName="v"), HELD, None, ClaimPlan(bind=HELD), id="named and half done"),
        pytest.param(a_claim(volumeName="v"), None, None, ClaimPlan(phase="Pending"), id="named and not there"),
        pytest.param(
            a_claim(volumeName="v"),
            TAKEN,
            None,
            pending("Warning", "FailedBinding", 'volume "v" already bound to a different claim.'),
            id="named and taken",
        ),
        pytest.param(
            a_claim(volumeName="v"),
            SMALL,
            None,
            pending("Warning", "VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small'),
            id="named and unfit",
        ),
        pytest.param(
            a_claim(storageClassName=""),
            None,
            None,
            pending(
                "Normal",
                "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set",
            ),
            id="no class",
        ),
        pytest.param(
            a_claim(),
            FREE,
            WAITING,
            pending("Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
            id="left to the scheduler",
        ),
        pytest.param(a_claim(), HELD, WAITING, ClaimPlan(bind=HELD), id="chosen by the scheduler"),
        pytest.param(
            a_claim(),
            None,
            None,
            ClaimPlan(event=Event("Warning", "ProvisioningFailed", 'storageclass.storage.k8s.io "manual" not found')),
            id="no such class",
        ),
        pytest.param(
            a_claim(),
            None,
            a_class(provisioner="kubernetes.io/no-provisioner"),
            ClaimPlan(
                event=Event(
                    "Warning", "ProvisioningFailed", "no volume plugin matched name: kubernetes.io/no-provisioner"
                )
            ),
            id="a class without a provisioner",
        ),
        pytest.param(a_claim(COMPLETED, "Bound", volumeName="v"), HELD, None, ClaimPlan(bind=HELD), id="bound"),
        pytest.param(
            a_claim(COMPLETED, "Bound", volumeName="v"),
            None,
            None,
            ClaimPlan(phase="Lost", event=Event("Warning", "ClaimLost", LOST)),
            id="volume gone",
        ),
        pytest.param(a_claim(COMPLETED, "Lost", volumeName="v"), None, None, ClaimPlan(), id="said once"),
        pytest.param(
            a_claim(COMPLETED, "Bound", volumeName="v"),
            TAKEN,
            None,
            ClaimPlan(
                phase="Lost",
                event=Event(
                    "Warning",
                    "ClaimMisbound",
                    "Two claims are bound to the same volume, this one is bound incorrectly",
                ),
            ),
            id="volume given away",
        ),
    ],
)
def test_what_becomes_of_a_claim(
    claim: Obj, volume: Obj | None, storage_class: Obj | None, expected: ClaimPlan
) -> None:
    volumes = {} if volume is None else {"v": volume}
    classes = {} if storage_class is None else {"manual": storage_class}
    assert plan_claim(claim, Observed(volumes, classes)) == expected


@pytest.mark.parametrize(
    ("pods", "message"),
    [(["a"], "waiting for pod a to be scheduled"), (["a", "b"], "waiting for pods a,b to be scheduled")],
)
def test_a_claim_waits_for_its_pods_to_be_scheduled(pods: list[str], message: str) -> None:
    decided = plan_claim(a_claim(), Observed({}, {"manual": WAITING}, pods))
    assert decided.event == Event("Normal", "WaitForPodScheduled", message)


def test_a_claim_is_offered_to_the_provisioner_of_its_class() -> None:
    assert plan_claim(a_claim(), Observed({}, {"manual": a_class()})).provisioner == "example.com/maker"
    chosen = a_claim({"volume.kubernetes.io/selected-node": "n1"})
    assert plan_claim(chosen, Observed({}, {"manual": WAITING})).provisioner == "example.com/maker"


def test_a_claim_without_a_class_gets_a_default_that_came_later() -> None:
    mark = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}, "creationTimestamp": "x"}
    default = a_class("standard") | {"metadata": {"name": "standard", **mark}}
    assert plan_claim(a_claim(storageClassName=None), Observed({}, {"standard": default})) == ClaimPlan(
        storage_class="standard"
    )


@pytest.mark.parametrize(
    ("volume", "claim", "expected"),
    [
        pytest.param(a_volume(), None, VolumePlan("Available"), id="free"),
        pytest.param(a_volume(claimRef=RESERVED), None, VolumePlan("Available"), id="reserved"),
        pytest.param(HELD, a_claim(volumeName="v"), VolumePlan("Bound"), id="bound"),
        pytest.param(HELD, None, VolumePlan("Released"), id="claim gone"),
        pytest.param(a_volume(claimRef=MINE, phase="Failed"), None, VolumePlan(), id="failed stays failed"),
        pytest.param(HELD, a_claim(), VolumePlan(), id="claim will finish it"),
        pytest.param(
            a_volume(claimRef=MINE, volumeMode="Block"), a_claim(), VolumePlan(mismatched=True), id="other mode"
        ),
        pytest.param(HELD, a_claim(volumeName="x"), VolumePlan("Available", unbind=True), id="claim went elsewhere"),
        pytest.param(
            a_volume(
                claimRef=MINE,
                persistentVolumeReclaimPolicy="Delete",
                metadata={"annotations": {"pv.kubernetes.io/provisioned-by": "x"}},
            ),
            a_claim(volumeName="x"),
            VolumePlan("Released"),
            id="made for a claim that went elsewhere",
        ),
    ],
)
def test_what_becomes_of_a_volume(volume: Obj, claim: Obj | None, expected: VolumePlan) -> None:
    assert plan_volume(volume, claim) == expected


def test_a_binding_is_written_once() -> None:
    claim, volume = a_claim(), a_volume()
    patch = bind_volume(volume, claim)
    assert patch["spec"]["claimRef"]["uid"] == "uid-c"
    assert patch["metadata"]["annotations"] == BY_CONTROLLER
    assert bind_volume(a_volume(claimRef=MINE), claim) == {}
    assert "metadata" not in bind_volume(a_volume(claimRef=RESERVED), claim)
    assert bind_claim(claim, volume) == {
        "spec": {"volumeName": "v"},
        "metadata": {"annotations": BY_CONTROLLER | COMPLETED},
    }
    assert bind_claim(a_claim(volumeName="v"), volume) == {"metadata": {"annotations": COMPLETED}}
    assert bind_claim(a_claim(COMPLETED, volumeName="v"), volume) == {}


def test_a_volume_that_a_user_reserved_stays_reserved_when_unbound() -> None:
    assert unbind_volume(a_volume(claimRef=MINE)) == {"spec": {"claimRef": {"uid": None}}}
    freed = unbind_volume(a_volume(claimRef=MINE, metadata={"annotations": BY_CONTROLLER}))
    assert freed["spec"] == {"claimRef": None}


def test_the_size_of_a_bound_claim_is_left_alone() -> None:
    before = a_claim(phase="Bound")
    before["status"]["capacity"] = {"storage": "500Mi"}
    assert claim_status(before, "Bound", a_volume())["capacity"] == {"storage": "500Mi"}
    assert claim_status(before, "Lost") == {"phase": "Lost"}


@pytest.mark.parametrize(
    ("metadata", "used", "expected"),
    [
        ({}, True, ["mine"]),
        ({"finalizers": ["a", "mine"]}, False, None),
        ({**DELETED, "finalizers": ["a", "mine"]}, True, None),
        ({**DELETED, "finalizers": ["a", "mine"]}, False, ["a"]),
        ({**DELETED, "finalizers": ["a"]}, False, None),
    ],
    ids=["missing", "present", "deleted and used", "deleted and unused", "deleted and free"],
)
def test_protection(metadata: Obj, used: bool, expected: list[str] | None) -> None:
    assert protect({"metadata": metadata}, "mine", used) == expected
