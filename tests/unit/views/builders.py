# SPDX-License-Identifier: Apache-2.0
"""Jobs and pods as an API server returns them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Raw = dict[str, Any]

CREATED = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
KINDS = {
    "TrainingJob": ("kai.alibabacloud.com/v1alpha1", "etReplicaSpecs"),
    "MPIJob": ("kubeflow.org/v1", "mpiReplicaSpecs"),
    "TFJob": ("kubeflow.org/v1", "tfReplicaSpecs"),
    "PyTorchJob": ("kubeflow.org/v1", "pytorchReplicaSpecs"),
}


def at(seconds: float) -> datetime:
    """So many seconds after the job's creation."""
    return CREATED + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def a_template(gpus: int = 0, **spec: Any) -> Raw:
    limits = {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}} if gpus else {}
    return {"spec": {"containers": [{"name": "main", "image": "bert", **limits}], **spec}}


def a_role(replicas: int = 1, gpus: int = 0, priority: str = "", **fields: Any) -> Raw:
    spec = {"priorityClassName": priority} if priority else {}
    return {"replicas": replicas, "template": a_template(gpus, **spec), **fields}


def a_job(
    kind: str = "TrainingJob",
    roles: Mapping[str, Raw] | None = None,
    *,
    name: str = "bert",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    **status: Any,
) -> Raw:
    """Created at `CREATED`. Keywords are fields of its status."""
    version, field = KINDS[kind]
    found = roles if roles is not None else {"launcher": a_role(), "worker": a_role(2, gpus=1)}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": stamp(0),
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {field: dict(found), **(spec or {})},
        "status": status,
    }


def a_pod(
    job: Raw,
    role: str,
    index: int | None = None,
    *,
    node: str = "node-a",
    phase: str = "Running",
    gpus: int = 0,
    created: float = 0,
    started: float | None = None,
    labels: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Raw:
    """As our operator makes it; `labels` instead of its own. Times are seconds after the job's creation."""
    name = f"{job['metadata']['name']}-{role}" + ("" if index is None else f"-{index}")
    running = {"running": {"startedAt": stamp(created if started is None else started)}}
    containers = [{"name": "main", "ready": phase == "Running", "state": running if phase == "Running" else {}}]
    owner = {"kind": job["kind"], "name": job["metadata"]["name"], "uid": job["metadata"]["uid"], "controller": True}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": stamp(created),
            "labels": dict(labels) if labels is not None else labels_of(job, role, index),
            "ownerReferences": [owner],
            **(metadata or {}),
        },
        "spec": {**a_template(gpus)["spec"], **({"nodeName": node} if node else {})},
        "status": {
            "phase": phase,
            **({"hostIP": f"ip-of-{node}", "podIP": "10.1.0.1"} if node else {}),
            "startTime": stamp(created),
            "containerStatuses": containers,
            **(status or {}),
        },
    }


def labels_of(job: Raw, role: str, index: int | None = None) -> dict[str, str]:
    name = job["metadata"]["name"]
    place = {} if index is None else {"springtide.dev/index": str(index)}
    of_kind = "training-job-name" if job["kind"] == "TrainingJob" else "training.kubeflow.org/job-name"
    return {
        "springtide.dev/job": name,
        "springtide.dev/kind": job["kind"],
        "springtide.dev/role": role.capitalize(),
        of_kind: name,
        **place,
    }
