# SPDX-License-Identifier: Apache-2.0
"""Requests and a readable world for admission tests."""

from __future__ import annotations

from typing import Any

from springtide.local.access.identity import User
from springtide.local.admission.request import CREATE, AdmissionRequest

JANE = User("jane", "jane-uid", ("devs", "system:authenticated"))


class World:
    """A `Reader` over objects given as (storage name, object)."""

    def __init__(self, *objects: tuple[str, dict[str, Any]]) -> None:
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        for storage, obj in objects:
            self.put(storage, obj)

    def put(self, storage: str, obj: dict[str, Any]) -> None:
        meta = obj["metadata"]
        self.objects[storage, meta.get("namespace", ""), meta["name"]] = obj

    def get(self, resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        return self.objects.get((resource, namespace, name))

    def list(self, resource: str, namespace: str = "") -> list[dict[str, Any]]:
        return [
            obj for (storage, home, _), obj in self.objects.items() if storage == resource and namespace in ("", home)
        ]


def a_pod(name: str = "p", *, generated: str = "", **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"} | ({"generateName": generated} if generated else {})
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def a_request(obj: dict[str, Any] | None, resource: str = "pods", kind: str = "Pod", **more: Any) -> AdmissionRequest:
    meta = (obj or {}).get("metadata", {})
    fields: dict[str, Any] = {
        "operation": CREATE,
        "resource": resource,
        "kind": kind,
        "user": JANE,
        "namespace": meta.get("namespace", ""),
        "name": meta.get("name", ""),
        "obj": obj,
    }
    return AdmissionRequest(**{**fields, **more})
