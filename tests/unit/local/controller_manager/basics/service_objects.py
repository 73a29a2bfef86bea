# SPDX-License-Identifier: Apache-2.0
"""Builders for services and the pods behind them."""

from __future__ import annotations

from typing import Any

import msgspec

from springtide.kube.resources import Obj
from springtide.local.controller_manager.views import PodView

CREATED = "2026-01-01T00:00:00Z"
HTTP = {"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}


def a_service(*ports: Obj, name: str = "web", labels: Obj | None = None, **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "labels": labels or {},
            "creationTimestamp": CREATED,
        },
        "spec": {
            "selector": {"app": "web"},
            "ports": list(ports),
            "clusterIP": "10.96.0.9",
            "ipFamilies": ["IPv4"],
            **spec,
        },
    }


def a_pod(
    number: int,
    *,
    ready: bool = True,
    port: int = 8080,
    since: str = CREATED,
    deleted: bool = False,
    spec: Obj | None = None,
    **status: Any,
) -> PodView:
    address = f"10.1.{number // 256}.{number % 256}"
    metadata = {"name": f"p{number}", "namespace": "ns", "uid": f"uid-{number}", "labels": {"app": "web"}}
    if deleted:
        metadata["deletionTimestamp"] = CREATED
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}
    containers = [{"name": "c", "ports": [{"name": "web", "containerPort": port}]}]
    obj = {
        "metadata": metadata,
        "spec": {"nodeName": "n1", "containers": containers, **(spec or {})},
        "status": {"phase": "Running", "podIPs": [{"ip": address}], "conditions": [condition], **status},
    }
    return msgspec.convert(obj, PodView)


def reference(number: int) -> Obj:
    return {"kind": "Pod", "namespace": "ns", "name": f"p{number}", "uid": f"uid-{number}"}
