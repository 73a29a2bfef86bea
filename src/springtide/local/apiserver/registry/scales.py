# SPDX-License-Identifier: Apache-2.0
"""The Scale of an object with replicas, as read and written by `kubectl scale` and shown to webhooks."""

from __future__ import annotations

from typing import Any

from springtide.local.apiserver.registry.resources import Resource, ScalePaths
from springtide.local.kinds import label_selectors
from springtide.local.kinds.strategy import Obj

SUBRESOURCE = "scale"
KIND, GROUP, VERSION = "Scale", "autoscaling", "v1"
_WORKLOAD = ScalePaths(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"))


def paths_of(resource: Resource) -> ScalePaths:
    return resource.scale_paths or _WORKLOAD


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def missing(obj: Obj, resource: Resource) -> str:
    """The path of the replica count that a custom resource lacks; empty if it is there."""
    path = paths_of(resource).spec
    return f".{'.'.join(path)}" if resource.custom and _at(obj, path) is None else ""


def scale_of(obj: Obj, resource: Resource) -> Obj:
    """The Scale of an object."""
    paths = paths_of(resource)
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = _at(obj, paths.selector) if paths.selector else None
    if isinstance(selector, dict):
        selector = str(label_selectors.from_object(selector))
    state: Obj = {"replicas": _at(obj, paths.status) or 0}
    if selector:
        state["selector"] = selector
    wanted = _at(obj, paths.spec)
    spec: Obj = {"replicas": wanted} if wanted else {}
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{VERSION}",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": spec,
        "status": state,
    }
