# SPDX-License-Identifier: Apache-2.0
"""Pods, nodes and snapshots for tests, written as users write them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from springtide.kube.resources import Obj
from springtide.local.scheduler.state import nodes, pods
from springtide.local.scheduler.state.nodes import Node
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.views import BudgetView, ClaimView, ClassView, NodeView, PodView, VolumeView

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"
_numbers = itertools.count()


def a_pod_view(name: str = "p", wants: Mapping[str, str] | None = None, **more: Any) -> PodView:
    number = next(_numbers)
    metadata = {
        "name": name,
        "namespace": more.pop("namespace", "default"),
        "uid": more.pop("uid", f"uid-{number}"),
        "labels": more.pop("labels", None),
        "annotations": more.pop("annotations", None),
        "creationTimestamp": more.pop("created", "2026-01-01T00:00:00Z"),
        "deletionTimestamp": more.pop("deleted", None),
        "ownerReferences": [{"uid": owner, "controller": True} for owner in more.pop("owners", ())],
    }
    status = more.pop("status", {"phase": "Pending"})
    container = {"resources": {"requests": wants or {}}, "ports": more.pop("ports", [])}
    spec = {"containers": [container], "schedulerName": "default-scheduler", **more}
    return msgspec.convert({"metadata": _present(metadata), "spec": spec, "status": status}, PodView)


def a_pod(name: str = "p", wants: Mapping[str, str] | None = None, **more: Any) -> Pod:
    return pods.from_view(a_pod_view(name, wants, **more))


def a_node_view(name: str = "a", has: Mapping[str, str] | None = None, **more: Any) -> NodeView:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", **(has or {})}
    metadata = {"name": name, "labels": {HOST: name, **more.pop("labels", {})}}
    return msgspec.convert({"metadata": metadata, "spec": more, "status": {"allocatable": allocatable}}, NodeView)


def a_node(name: str = "a", has: Mapping[str, str] | None = None, **more: Any) -> Node:
    return nodes.from_view(a_node_view(name, has, **more))


def a_snapshot(*there: Node, pods: Mapping[str, Iterable[Pod]] | None = None, strict: bool = True) -> Snapshot:
    snapshot = Snapshot(strict)
    for node in there:
        snapshot.put_node(node)
    for name, on_it in (pods or {}).items():
        for pod in on_it:
            snapshot.add(pod, name)
    return snapshot


def a_claim(
    name: str = "data", annotations: Mapping[str, str] | None = None, phase: str = "", **spec: Any
) -> ClaimView:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": dict(annotations or {})}
    given = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return msgspec.convert({"metadata": metadata, "spec": given, "status": {"phase": phase}}, ClaimView)


def a_volume(name: str = "v", on: str = "", **spec: Any) -> VolumeView:
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [on]}]}
    where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if on else {}
    given = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}, **where, **spec}
    return msgspec.convert({"metadata": {"name": name}, "spec": given, "status": {"phase": "Available"}}, VolumeView)


def a_class(name: str, provisioner: str = "made-here", mode: str = "WaitForFirstConsumer", **more: Any) -> ClassView:
    given = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    return msgspec.convert(given, ClassView)


def a_budget(labels: Mapping[str, str], allowed: int) -> BudgetView:
    given = {
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": dict(labels)}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(given, BudgetView)


def node_affinity(*expressions: Obj, fields: list[Obj] | None = None) -> Obj:
    term = {"matchExpressions": list(expressions), "matchFields": fields or []}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def company(kind: str, app: str, topology: str = HOST, *, weight: int = 0, **more: Any) -> Obj:
    term = {"topologyKey": topology, "labelSelector": {"matchLabels": {"app": app}}, **more}
    if weight:
        wish = [{"weight": weight, "podAffinityTerm": term}]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wish}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(app: str, topology: str = ZONE, when: str = "DoNotSchedule", **more: Any) -> list[Obj]:
    selector = {"matchLabels": {"app": app}}
    return [{"maxSkew": 1, "topologyKey": topology, "whenUnsatisfiable": when, "labelSelector": selector, **more}]


def _present(fields: Mapping[str, Any]) -> Obj:
    return {name: value for name, value in fields.items() if value is not None}
