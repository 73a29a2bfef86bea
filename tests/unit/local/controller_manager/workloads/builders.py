# SPDX-License-Identifier: Apache-2.0
"""Pods and workloads for the tests of the workload controllers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from springtide.kube.resources import Obj
from springtide.local.controller_manager.timestamps import stamp
from springtide.local.controller_manager.views import PodView

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    return stamp(NOW - timedelta(seconds=seconds))


def a_pod(
    name: str = "p", phase: str = "Running", *, ready: bool = False, ready_for: float = 60, **parts: Any
) -> PodView:
    """Further parts: labels, annotations, owner (uid), finalizers, node, age, deleting, status, spec."""
    metadata: Obj = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "labels": parts.get("labels", {"app": "web"}),
        "annotations": parts.get("annotations", {}),
        "finalizers": parts.get("finalizers", []),
        "creationTimestamp": ago(parts.get("age", 100)),
    }
    if owner := parts.get("owner"):
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    if parts.get("deleting"):
        metadata["deletionTimestamp"] = ago(0)
    status: Obj = {"phase": phase, **parts.get("status", {})}
    if ready:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": ago(ready_for)}
        status["conditions"] = [condition, *status.get("conditions", ())]
    spec = {"nodeName": parts.get("node", "a"), **parts.get("spec", {})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, PodView, strict=False)


def a_template(image: str = "one", **labels: str) -> Obj:
    found = labels or {"app": "web"}
    return {"metadata": {"labels": found}, "spec": {"containers": [{"name": "c", "image": image}]}}


def a_replica_set(name: str = "web-1", size: int = 3, **parts: Any) -> Obj:
    """Further parts: `image`, `annotations`, `age`, `deleting`, and any field of status."""
    metadata: Obj = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "generation": 1,
        "resourceVersion": "7",
        "creationTimestamp": ago(parts.pop("age", 100)),
        "annotations": parts.pop("annotations", {}),
    }
    if parts.pop("deleting", False):
        metadata["deletionTimestamp"] = ago(0)
    template = a_template(parts.pop("image", "one"), app="web", **{"pod-template-hash": name})
    spec: Obj = {"replicas": size, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    if seconds := parts.pop("min_ready_seconds", 0):
        spec["minReadySeconds"] = seconds
    status = {"replicas": size, "observedGeneration": 1, "terminatingReplicas": 0, **parts}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec, "status": status}


def a_job(status: Obj | None = None, **spec: Any) -> Obj:
    template = {
        "metadata": {"labels": {"job-name": "sum"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]},
    }
    metadata = {"name": "sum", "namespace": "default", "uid": "uid-sum", "resourceVersion": "7"}
    defaults = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "selector": {}, "template": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {**defaults, **spec},
        "status": {"startTime": ago(30), **(status or {})},
    }


def a_job_pod(
    name: str, phase: str = "Running", index: int | None = None, failures: int | None = None, **parts: Any
) -> PodView:
    annotations = {}
    if index is not None:
        annotations["batch.kubernetes.io/job-completion-index"] = str(index)
    if failures is not None:
        annotations["batch.kubernetes.io/job-index-failure-count"] = str(failures)
    parts.setdefault("finalizers", ["batch.kubernetes.io/job-tracking"])
    return a_pod(name, phase, annotations=annotations, **parts)
