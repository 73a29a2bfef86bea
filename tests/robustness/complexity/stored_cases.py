# SPDX-License-Identifier: Apache-2.0
"""Objects with long lists and maps that are stored, so that controllers and the scheduler act on them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.robustness.complexity.cases import Case, Obj, Seen, kind_cases, recorded_objects

from springtide.local.schema import builtin

CROWD = 30
_CORE, _APPS, _BATCH = "/api/v1", "/apis/apps/v1", "/apis/batch/v1"
KINDS = {
    "Pod": ("v1", f"{_CORE}/namespaces/tried/pods"),
    "Service": ("v1", f"{_CORE}/namespaces/tried/services"),
    "Endpoints": ("v1", f"{_CORE}/namespaces/tried/endpoints"),
    "ResourceQuota": ("v1", f"{_CORE}/namespaces/tried/resourcequotas"),
    "PersistentVolumeClaim": ("v1", f"{_CORE}/namespaces/tried/persistentvolumeclaims"),
    "PersistentVolume": ("v1", f"{_CORE}/persistentvolumes"),
    "ServiceAccount": ("v1", f"{_CORE}/namespaces/tried/serviceaccounts"),
    "Node": ("v1", f"{_CORE}/nodes"),
    "Deployment": ("apps/v1", f"{_APPS}/namespaces/tried/deployments"),
    "ReplicaSet": ("apps/v1", f"{_APPS}/namespaces/tried/replicasets"),
    "Job": ("batch/v1", f"{_BATCH}/namespaces/tried/jobs"),
    "PodDisruptionBudget": ("policy/v1", "/apis/policy/v1/namespaces/tried/poddisruptionbudgets"),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "/apis/autoscaling/v2/namespaces/tried/horizontalpodautoscalers"),
}
_VALUES = ("items", "entries")
"""Long texts and empty items are tried by dry runs; most are refused before they are stored."""


def stored_cases() -> Iterator[Case]:
    seen: Seen = set()
    for kind, (api_version, path) in KINDS.items():
        group, _, version = api_version.rpartition("/")
        for case in kind_cases(kind, api_version, path, builtin.kind_node(group, version, kind), seen):
            if case.id.rpartition(": ")[2] in _VALUES:
                yield case._replace(id=f"stored {case.id}", path=path, make=lambda case=case: _tolerant(case.make()))  # type: ignore[misc]


def _tolerant(obj: Obj) -> Obj:
    """The node of these tests has no agent, and is tainted after a while."""
    if obj["kind"] == "Pod" and isinstance(obj.get("spec"), dict):
        obj["spec"].setdefault("tolerations", [{"operator": "Exists"}])
    return obj


def crowd() -> Iterator[tuple[str, Obj]]:
    """A node, and pods on it with different labels."""
    labels = {"kubernetes.io/hostname": "a", "topology.kubernetes.io/zone": "a"}
    status = {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "250"}}
    yield KINDS["Node"][1], {"metadata": {"name": "a", "labels": labels}, "status": status}
    pod = json.dumps(recorded_objects()["Pod"]["spec"])
    for number in range(CROWD):
        metadata = {"name": f"crowd-{number}", "labels": {"number": f"{number}"}}
        yield (
            KINDS["Pod"][1],
            {"metadata": metadata, "spec": json.loads(pod) | {"tolerations": [{"operator": "Exists"}]}},
        )
