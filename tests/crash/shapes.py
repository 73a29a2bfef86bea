# SPDX-License-Identifier: Apache-2.0
"""The objects of the load: each carries the stamp of its last write and a payload that only that stamp can produce.

A half-written or mixed-up object is therefore seen at once, whatever its kind.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

STAMP = "crash.example.com/stamp"
NAMESPACE = "load"
KEPT_UP = "kube-root-ca.crt"
"""The one object in the watched collections that is not ours: upkeep puts it into every namespace."""

Obj = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    api_version: str
    kind: str
    plural: str
    payload: tuple[str, ...]
    """Where the payload lies in the object."""

    @property
    def collection(self) -> str:
        root = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        return f"{root}/namespaces/{NAMESPACE}/{self.plural}"

    def item(self, name: str) -> str:
        return f"{self.collection}/{name}"


CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps", ("data", "payload"))
POD = Kind("v1", "Pod", "pods", ("metadata", "annotations", "payload"))
WIDGET = Kind("example.com/v1", "Widget", "widgets", ("spec", "payload"))
KINDS = (CONFIG_MAP, POD, WIDGET)

DEFINITION_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(plural: str, kind: str) -> Obj:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def payload_of(stamp: str) -> str:
    digest = hashlib.sha256(stamp.encode()).hexdigest()
    return digest * (1 + int(digest[:2], 16) % 40)


def wanted(kind: Kind, name: str, stamp: str) -> Obj:
    """The whole object, as create, update and apply send it."""
    obj: Obj = {"apiVersion": kind.api_version, "kind": kind.kind}
    obj |= {"metadata": {"name": name, "annotations": {STAMP: stamp}}}
    if kind is POD:
        obj["spec"] = {"containers": [{"name": "main", "image": "busybox"}], "automountServiceAccountToken": False}
    _payload_parent(kind, obj)[kind.payload[-1]] = payload_of(stamp)
    return obj


def changes(kind: Kind, stamp: str) -> Obj:
    """The same as a merge patch."""
    patch: Obj = {"metadata": {"annotations": {STAMP: stamp}}}
    _payload_parent(kind, patch)[kind.payload[-1]] = payload_of(stamp)
    return patch


def operations(kind: Kind, stamp: str) -> list[Obj]:
    """The same as a JSON patch."""
    where = "/" + "/".join(kind.payload)
    mark = "/metadata/annotations/" + STAMP.replace("/", "~1")
    return [{"op": "add", "path": path, "value": value} for path, value in ((mark, stamp), (where, payload_of(stamp)))]


def stamp_of(kind: Kind, obj: Obj) -> str:
    """The stamp of a whole object; AssertionError when its parts do not belong together."""
    stamp: str = obj["metadata"]["annotations"][STAMP]
    found: Any = obj
    for step in kind.payload:
        found = found[step]
    assert found == payload_of(stamp), f"{kind.plural}/{obj['metadata']['name']} is half-written: stamp {stamp}"
    return stamp


def _payload_parent(kind: Kind, obj: Obj) -> Obj:
    for step in kind.payload[:-1]:
        obj = obj.setdefault(step, {})
    return obj
