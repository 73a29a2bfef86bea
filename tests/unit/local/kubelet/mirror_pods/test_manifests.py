# SPDX-License-Identifier: Apache-2.0
"""The operator's mirror pods are found as the documents of operators find theirs."""

from __future__ import annotations

from typing import Any

from springtide.api.mirror_pods import MIRROR, is_mirror
from springtide.kube.resources import Key
from springtide.local.kubelet.mirror_pods import manifests

NODE: dict[str, Any] = {"metadata": {"name": "a", "uid": "u"}}


def test_there_is_one_for_each_well_known_name() -> None:
    labels = {key: pod["metadata"]["labels"] for key, pod in manifests.all_of(NODE).items()}
    assert labels == {
        Key("kubeflow", "tf-job-operator-a"): {"name": "tf-job-operator"},
        Key("kubeflow", "pytorch-operator-a"): {"name": "pytorch-operator"},
        Key("mpi-operator", "mpi-operator-a"): {"app": "mpi-operator"},
    }


def test_they_are_what_a_kubelet_writes_for_static_pods() -> None:
    for pod in manifests.all_of(NODE).values():
        metadata, spec = pod["metadata"], pod["spec"]
        assert is_mirror(pod)
        assert metadata["annotations"][MIRROR] == metadata["annotations"]["kubernetes.io/config.hash"]
        assert metadata["annotations"]["kubernetes.io/config.source"] == "file"
        assert metadata["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "u", "controller": True}
        ]
        assert spec["nodeName"] == "a"
        assert spec["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]
        assert all("resources" not in container for container in spec["containers"])


def test_only_a_deletion_another_version_or_another_node_makes_one_outdated() -> None:
    (wanted, *_) = manifests.all_of(NODE).values()
    (there, *_) = manifests.all_of(NODE).values()
    assert manifests.is_current(there, wanted)
    changes: tuple[dict[str, Any], ...] = (
        {"deletionTimestamp": "2026-11-16T12:00:00Z"},
        {"annotations": {MIRROR: "of another version"}},
        {"ownerReferences": [manifests.owner_of({"metadata": {"name": "a", "uid": "another"}})]},
        {"ownerReferences": []},
    )
    for change in changes:
        assert not manifests.is_current(there | {"metadata": there["metadata"] | change}, wanted)


def test_a_long_node_name_does_not_make_the_pod_s_too_long() -> None:
    node = {"metadata": {"name": "n" * 250, "uid": "u"}}
    assert max(len(key.name) for key in manifests.all_of(node)) == 253
