# SPDX-License-Identifier: Apache-2.0
"""Raw jobs for the tests of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Raw = dict[str, Any]


def a_template(*command: str, **container: Any) -> Raw:
    return {"spec": {"containers": [{"name": "main", "image": "pi", "command": list(command), **container}]}}


def an_mpijob(
    version: str = "v1",
    *,
    name: str = "pi",
    workers: int | None = 2,
    command: Sequence[str] = ("mpirun", "-np", "2", "pi"),
    launcher: Raw | None = None,
    worker: Raw | None = None,
    **spec: Any,
) -> Raw:
    """A valid one; `launcher` and `worker` change its roles, everything else its spec. A None leaves a field out."""
    roles = {
        "Launcher": {"replicas": 1, "template": a_template(*command), **(launcher or {})},
        "Worker": {"replicas": workers, "template": a_template(), **(worker or {})},
    }
    roles = {role: without_none(fields) for role, fields in roles.items()}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": without_none({"mpiReplicaSpecs": roles, **spec}),
    }


def a_tfjob(roles: Mapping[str, int], *, name: str = "mnist", restart: str | None = None, **spec: Any) -> Raw:
    """A valid one with so many replicas of each role."""
    return _of_named_replicas("TFJob", "tfReplicaSpecs", "tensorflow", roles, name, restart, spec)


def a_pytorchjob(roles: Mapping[str, int], *, name: str = "mnist", restart: str | None = None, **spec: Any) -> Raw:
    """A valid one with so many replicas of each role."""
    return _of_named_replicas("PyTorchJob", "pytorchReplicaSpecs", "pytorch", roles, name, restart, spec)


def a_trainingjob(
    *,
    name: str = "bert",
    workers: int | None = 2,
    command: Sequence[str] = ("horovodrun", "train"),
    launcher: Raw | None = None,
    worker: Raw | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Raw:
    """A valid one; `launcher` and `worker` change its roles, everything else its spec. A None leaves a field out."""
    roles = {
        "launcher": {"replicas": 1, "template": a_template(*command), **(launcher or {})},
        "worker": {"replicas": workers, "template": a_template(), **(worker or {})},
    }
    roles = {role: without_none(fields) for role, fields in roles.items()}
    return {
        "apiVersion": "kai.alibabacloud.com/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1", "annotations": dict(annotations or {})},
        "spec": without_none({"etReplicaSpecs": roles, **spec}),
    }


def a_scale_out(count: int | None = 1, *, name: str = "grow", **spec: Any) -> Raw:
    """A valid one; a None leaves a field out."""
    return _a_scaler("ScaleOut", name, {"toAdd": without_none({"count": count}), **spec})


def a_scale_in(to_delete: Raw | None = None, *, name: str = "shrink", **spec: Any) -> Raw:
    """The same; without `to_delete` it removes one worker."""
    return _a_scaler("ScaleIn", name, {"toDelete": {"count": 1} if to_delete is None else to_delete, **spec})


def _a_scaler(kind: str, name: str, spec: Raw) -> Raw:
    return {
        "apiVersion": "kai.alibabacloud.com/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": f"u-{name}"},
        "spec": without_none({"selector": {"name": "bert"}, **spec}),
    }


def _of_named_replicas(
    kind: str, field: str, container: str, roles: Mapping[str, int], name: str, restart: str | None, spec: Raw
) -> Raw:
    template = {"spec": {"containers": [{"name": container, "image": "train"}]}}
    specs = {
        role: without_none({"replicas": count, "restartPolicy": restart, "template": template})
        for role, count in roles.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": without_none({field: specs, **spec}),
    }


def without_none(fields: Raw) -> Raw:
    return {field: value for field, value in fields.items() if value is not None}
