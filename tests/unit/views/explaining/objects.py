# SPDX-License-Identifier: Apache-2.0
"""Objects around a job, as an API server returns them, for tests of explanations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from springtide.views.explaining import Evidence

NOW = datetime(2026, 11, 17, 6, 0, tzinfo=UTC)
Obj = dict[str, Any]


def condition(type_: str, reason: str = "", message: str = "", status: str = "True") -> Obj:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def a_job(state: str = "Queued", *conditions: Obj, kind: str = "MPIJob", **more: Any) -> Obj:
    """`more`: spec, annotations, labels, metadata, and fields of the status."""
    metadata = {"name": "pi", "namespace": "ns", "uid": "job", "creationTimestamp": "2026-11-17T05:00:00Z"}
    metadata |= {name: more.pop(name) for name in ("annotations", "labels") if name in more}
    metadata |= more.pop("metadata", {})
    spec = more.pop("spec", {})
    status: Obj = {"state": state, "conditions": [condition("Created"), *conditions], **more}
    return {"kind": kind, "metadata": metadata, "spec": spec, "status": status if state else {}}


def a_pod(name: str = "pi-worker-0", *, node: str = "one", ready: bool = True, **more: Any) -> Obj:
    """`more`: requests, waiting, last, ended, unscheduled, spec, labels."""
    container: Obj = {"name": "main", "image": "train:1"}
    if amounts := more.get("requests"):
        container["resources"] = {"requests": amounts, "limits": amounts}
    status: Obj = {"name": "main", "restartCount": more.get("restarts", 0), "state": {"running": {}}}
    if waiting := more.get("waiting"):
        status["state"] = {"waiting": waiting}
    if last := more.get("last"):
        status["lastState"] = {"terminated": last}
    if ended := more.get("ended"):
        status["state"] = {"terminated": ended}
    conditions = [condition("Ready", status="True" if ready else "False")]
    if message := more.get("unscheduled"):
        conditions = [condition("PodScheduled", "Unschedulable", message, "False")]
    spec: Obj = {"containers": [container], **more.get("spec", {})}
    spec |= {"nodeName": node} if node and not more.get("unscheduled") else {}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": more.get("labels", {})},
        "spec": spec,
        "status": {
            "phase": "Failed" if more.get("ended") else "Running",
            "conditions": conditions,
            "containerStatuses": [] if more.get("unscheduled") else [status],
        },
    }


def a_node(name: str = "one", *, ready: str = "True", taints: list[Obj] | None = None, **allocatable: str) -> Obj:
    offers = {"cpu": "16", **{key.replace("__", "/").replace("_", "."): value for key, value in allocatable.items()}}
    silent = condition("Ready", "NodeStatusUnknown", "Kubelet stopped posting node status.", ready)
    return {
        "metadata": {"name": name, "labels": {}},
        "spec": {"taints": taints} if taints else {},
        "status": {"allocatable": offers, "conditions": [silent | {"lastTransitionTime": "2026-11-17T05:59:00Z"}]},
    }


def an_event(about: str, reason: str, message: str, type_: str = "Warning", kind: str = "Pod") -> Obj:
    return {
        "metadata": {"creationTimestamp": "2026-11-17T05:59:00Z"},
        "involvedObject": {"kind": kind, "name": about},
        "reason": reason,
        "message": message,
        "type": type_,
    }


def evidence(job: Obj, *pods: Obj, **more: Any) -> Evidence:
    return Evidence(job=job, now=NOW, pods=pods, **more)
