# SPDX-License-Identifier: Apache-2.0
"""Taints of nodes and tolerations of pods, by Kubernetes' rules."""

from __future__ import annotations

from typing import Final

from springtide.views.explaining.evidence import Obj

CORDONED: Final = "node.kubernetes.io/unschedulable"
OF_KUBERNETES: Final = "node.kubernetes.io/"
_FORBIDDING: Final = ("NoSchedule", "NoExecute")


def untolerated(pod: Obj, node: Obj) -> Obj | None:
    """The first taint that keeps the pod off the node. A cordon counts as one."""
    spec = node.get("spec") or {}
    found = [each for each in spec.get("taints") or () if each.get("effect") in _FORBIDDING]
    if spec.get("unschedulable") and not any(each.get("key") == CORDONED for each in found):
        found.append({"key": CORDONED, "effect": "NoSchedule"})
    tolerations = (pod.get("spec") or {}).get("tolerations") or ()
    return next((each for each in found if not any(_tolerates(its, each) for its in tolerations)), None)


def _tolerates(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    equal = (toleration.get("value") or "") == (taint.get("value") or "")
    return toleration.get("operator") in (None, "", "Equal") and equal


def shown(taint: Obj) -> str:
    """`gpu=true:NoSchedule`, as kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"


def removal(taint: Obj) -> str:
    """The argument of `kubectl taint` that removes it."""
    return f"{taint.get('key')}:{taint.get('effect')}-"
