# SPDX-License-Identifier: Apache-2.0
"""Which claims a pod brings along."""

from __future__ import annotations

from typing import Any

import msgspec

from springtide.kube.resources import Key, Obj
from springtide.local.controller_manager.storage.ephemeral_volumes import missing
from springtide.local.controller_manager.storage.volume_protection import claims_of
from springtide.local.controller_manager.views import PodView

TEMPLATE: Obj = {"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
VOLUMES: list[Obj] = [
    {"name": "own", "ephemeral": {"volumeClaimTemplate": TEMPLATE}},
    {"name": "named", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "empty", "emptyDir": {}},
]


def a_pod(**metadata: Any) -> PodView:
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u", **metadata}, "spec": {"volumes": VOLUMES}}
    return msgspec.convert(pod, PodView)


def test_an_ephemeral_volume_gets_a_claim_that_its_pod_owns() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    metadata = {"name": "p-own", "namespace": "ns", "labels": {"a": "b"}}
    assert missing(a_pod(), ()) == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata | {"ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}]},
            "spec": TEMPLATE["spec"],
        }
    ]


def test_a_claim_is_made_once() -> None:
    assert missing(a_pod(), [Key("ns", "p-own")]) == []


def test_a_pod_that_is_ending_gets_none() -> None:
    assert missing(a_pod(deletionTimestamp="2026-11-16T04:30:00Z"), ()) == []


def test_both_kinds_of_claims_are_in_use() -> None:
    assert claims_of(a_pod()) == [Key("ns", "c"), Key("ns", "p-own")]
