# SPDX-License-Identifier: Apache-2.0
"""Admission for node failures: default tolerations of pods, and the not-ready taint of new nodes."""

from __future__ import annotations

from typing import Final

from springtide.local.admission.request import CREATE, UPDATE, AdmissionRequest, Obj

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
GRACE_SECONDS: Final = 300


class DefaultTolerations:
    """A pod stays five minutes on an unreachable or not ready node, unless it has its own tolerations."""

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == "pods" and not subresource and operation in (CREATE, UPDATE)

    async def admit(self, request: AdmissionRequest) -> None:
        spec = request.object()["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [key for key in (NOT_READY, UNREACHABLE) if not any(_covers(each, key) for each in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(_toleration(key) for key in missing)]


def _covers(toleration: Obj, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _toleration(key: str) -> Obj:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": GRACE_SECONDS}


class TaintNewNodes:
    """A new node is tainted until a controller has seen it ready."""

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == "nodes" and not subresource and operation == CREATE

    async def admit(self, request: AdmissionRequest) -> None:
        spec = request.object().setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]
