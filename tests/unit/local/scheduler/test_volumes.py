# SPDX-License-Identifier: Apache-2.0
"""Where a pod's claims let it go, and what has to be written first."""

from __future__ import annotations

import pytest
from tests.unit.local.scheduler.things import ZONE, a_claim, a_class, a_node, a_pod, a_snapshot, a_volume

from springtide.kube.resources import Key
from springtide.local.scheduler.placing import place
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.state import storage
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.views import BIND_COMPLETED, SELECTED_NODE, ClaimView, VolumeView

DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
BOUND = {BIND_COMPLETED: "yes"}


def a_world(*claims: ClaimView, volumes: tuple[VolumeView, ...] = (), provisioner: str = "made-here") -> Snapshot:
    snapshot = a_snapshot(a_node("a", labels={ZONE: "one"}), a_node("b", labels={ZONE: "two"}))
    snapshot.storage.claims |= {claim.key: claim for claim in claims}
    snapshot.storage.volumes |= {volume.metadata.name: volume for volume in volumes}
    snapshot.storage.classes |= {
        "late": a_class("late", provisioner),
        "at-once": a_class("at-once", mode="Immediate"),
        "zoned": a_class("zoned", allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["two"]}]}]),
    }
    return snapshot


def chosen(snapshot: Snapshot) -> str:
    found = place(a_pod(volumes=DATA), snapshot)
    return found.text() if isinstance(found, Unfit) else found.node.name


def test_a_bound_claim_ties_the_pod_to_its_volume() -> None:
    claim = a_claim(annotations=BOUND, volumeName="v")
    assert chosen(a_world(claim, volumes=(a_volume(on="b"),))) == "b"


def test_a_volume_that_is_everywhere_ties_to_nothing() -> None:
    assert chosen(a_world(a_claim(annotations=BOUND, volumeName="v"), volumes=(a_volume(),))) == "a"


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ((), 'persistentvolumeclaim "data" not found'),
        ((a_claim(storageClassName="at-once"),), "pod has unbound immediate PersistentVolumeClaims"),
        ((a_claim(storageClassName="late", volumeName="v"),), "pod has unbound immediate PersistentVolumeClaims"),
        (
            (a_claim(volumeName="v", phase="Lost"),),
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "v"',
        ),
    ],
    ids=["missing", "to be bound by others", "names its volume", "lost"],
)
def test_claims_that_no_node_can_help(claims: tuple[ClaimView, ...], says: str) -> None:
    assert chosen(a_world(*claims)) == f"0/2 nodes are available: {says}."


def test_an_ephemeral_claim_is_waited_for() -> None:
    found = place(a_pod(volumes=[{"name": "scratch", "ephemeral": {}}]), a_world())
    assert isinstance(found, Unfit)
    why = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"'
    assert found.text() == f"0/2 nodes are available: {why}."


def test_a_bound_claim_whose_volume_is_gone_fits_nowhere() -> None:
    says = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    assert chosen(a_world(a_claim(annotations=BOUND, volumeName="v"))) == f"0/2 nodes are available: 2 {says}."


def test_a_claim_that_waits_is_provisioned_anywhere() -> None:
    assert chosen(a_world(a_claim(storageClassName="late"))) == "a"


def test_a_claim_that_waits_goes_where_its_class_may_be() -> None:
    assert chosen(a_world(a_claim(storageClassName="zoned"))) == "b"


def test_a_claim_whose_node_was_chosen_before_stays_with_it() -> None:
    assert chosen(a_world(a_claim(annotations={SELECTED_NODE: "b"}, storageClassName="late"))) == "b"


def test_without_a_provisioner_there_must_be_a_volume() -> None:
    claim = a_claim(storageClassName="late")
    says = "node(s) didn't find available persistent volumes to bind"
    nobody = storage.NO_PROVISIONER
    assert chosen(a_world(claim, provisioner=nobody)) == f"0/2 nodes are available: 2 {says}."
    there = a_volume(on="b", storageClassName="late")
    assert chosen(a_world(claim, volumes=(there,), provisioner=nobody)) == "b"


@pytest.mark.parametrize(
    "volume",
    [
        a_volume(storageClassName="other"),
        a_volume(storageClassName="late", capacity={"storage": "1Mi"}),
        a_volume(storageClassName="late", accessModes=["ReadOnlyMany"]),
        a_volume(storageClassName="late", volumeMode="Block"),
        a_volume(storageClassName="late", claimRef={"namespace": "default", "name": "someone-else"}),
    ],
    ids=["class", "size", "access", "mode", "owner"],
)
def test_a_volume_that_does_not_suit_is_no_volume(volume: VolumeView) -> None:
    snapshot = a_world(a_claim(storageClassName="late"), volumes=(volume,), provisioner=storage.NO_PROVISIONER)
    assert chosen(snapshot).startswith("0/2 nodes are available: 2 node(s) didn't find")


def test_the_smallest_volume_that_suits_is_taken_and_only_once() -> None:
    claims = [a_claim(name, storageClassName="late") for name in ("x", "y")]
    small = a_volume("small", storageClassName="late", capacity={"storage": "1Gi"})
    large = a_volume("large", storageClassName="late", capacity={"storage": "9Gi"})
    snapshot = a_world(*claims, volumes=(large, small))
    plan = storage.plan(claims, "a", {}, snapshot.storage)
    assert plan is not None
    assert [(claim.metadata.name, volume.metadata.name) for claim, volume in plan.bindings] == [
        ("x", "small"),
        ("y", "large"),
    ]


def test_a_volume_set_aside_for_the_claim_comes_first() -> None:
    claim = a_claim(storageClassName="late")
    mine = a_volume("mine", storageClassName="late", claimRef={"namespace": "default", "name": "data"})
    small = a_volume("small", storageClassName="late", capacity={"storage": "1Gi"})
    plan = storage.plan([claim], "a", {}, a_world(claim, volumes=(small, mine)).storage)
    assert plan is not None
    assert [volume.metadata.name for _, volume in plan.bindings] == ["mine"]


def test_claims_are_looked_up_in_the_pods_namespace() -> None:
    snapshot = a_world(a_claim(storageClassName="late"))
    found = place(a_pod(namespace="other", volumes=DATA), snapshot)
    assert isinstance(found, Unfit)
    assert Key("default", "data") in snapshot.storage.claims
