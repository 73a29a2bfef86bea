# SPDX-License-Identifier: Apache-2.0
"""Which mirror pods there are, and their objects, as a kubelet writes them for its static pods.

One mirror pod for each name by which guides look for their operator's log: `--selector=name=tf-job-operator` and the
like. All represent the one process that acts on every kind of job. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

import springtide
from springtide.api.mirror_pods import MIRROR
from springtide.kube.resources import PODS, Key, Obj
from springtide.local.kubelet.mirror_pods.records import CONTAINER

HASH: Final = "kubernetes.io/config.hash"
SOURCE: Final = "kubernetes.io/config.source"
_LONGEST_NAME: Final = 253


class OperatorName(NamedTuple):
    """An operator as its own manifests name it."""

    namespace: str
    name: str
    label: str


NAMES: Final = (
    OperatorName("kubeflow", "tf-job-operator", "name"),
    OperatorName("kubeflow", "pytorch-operator", "name"),
    OperatorName("mpi-operator", "mpi-operator", "app"),
)


def all_of(node: Mapping[str, Any]) -> dict[Key, Obj]:
    """The mirror pods of a node that has them."""
    made = (_manifest(each, node) for each in NAMES)
    return {Key.of(pod): pod for pod in made}


def _manifest(operator: OperatorName, node: Mapping[str, Any]) -> Obj:
    name = str(node["metadata"]["name"])
    labels = {operator.label: operator.name}
    spec = _spec(name)
    digest = hashlib.md5(msgspec.json.encode([labels, spec], order="sorted"), usedforsecurity=False).hexdigest()
    pod = PODS.describe(Key(operator.namespace, f"{operator.name}-{name}"[:_LONGEST_NAME].rstrip("-.")))
    pod["metadata"] |= {
        "labels": labels,
        "annotations": {MIRROR: digest, HASH: digest, SOURCE: "file"},
        "ownerReferences": [owner_of(node)],
    }
    return pod | {"spec": spec}


def owner_of(node: Mapping[str, Any]) -> Obj:
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
    return owner | {"controller": True}


def _spec(node: str) -> Obj:
    container = {
        "name": CONTAINER,
        "image": f"springtide/operator:{springtide.__version__}",
        "imagePullPolicy": "IfNotPresent",
        "command": ["tide", "operator"],
    }
    return {
        "nodeName": node,
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "enableServiceLinks": False,
        "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        "containers": [container],
    }


def is_current(pod: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an existing mirror pod is the wanted one; one of an earlier version or of an earlier node is not."""
    metadata, other = pod["metadata"], wanted["metadata"]
    return (
        not metadata.get("deletionTimestamp")
        and metadata["annotations"][MIRROR] == other["annotations"][MIRROR]
        and [owner["uid"] for owner in metadata.get("ownerReferences") or ()]
        == [owner["uid"] for owner in other["ownerReferences"]]
    )
