# SPDX-License-Identifier: Apache-2.0
"""Manifests made from objects that exist: the same job again, or a copy of it under another name."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT: Final = ("name", "namespace", "labels", "annotations")
"""Fields of the metadata that users write."""
_SUSPENDING: Final = ("job-supervisor.kube-ai.io/job-suspended", "scheduling.x-k8s.io/suspend")
_WRITTEN_BY_OPERATORS: Final = (
    "job-supervisor.kube-ai.io/job-status",
    "deployment.kubernetes.io/revision",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)

Obj = dict[str, Any]


def clean(obj: Mapping[str, Any]) -> Obj:
    """The object without what the server and the operator have written: it can be created again."""
    found: Obj = copy.deepcopy({name: value for name, value in obj.items() if name != "status"})
    found["metadata"] = {name: found["metadata"][name] for name in _KEPT if found["metadata"].get(name)}
    annotations = found["metadata"].get("annotations") or {}
    for name in _WRITTEN_BY_OPERATORS:
        annotations.pop(name, None)
    if "annotations" in found["metadata"] and not annotations:
        del found["metadata"]["annotations"]
    return found


def unsuspended(obj: Obj) -> Obj:
    """The same job, to be started at once."""
    found = copy.deepcopy(obj)
    annotations = found["metadata"].get("annotations") or {}
    for name in _SUSPENDING:
        annotations.pop(name, None)
    policy = (found.get("spec") or {}).get("runPolicy") or {}
    policy.pop("suspend", None)
    return found


def renamed(obj: Obj, name: str) -> Obj:
    """The same object under another name. Labels and names of other objects that follow from the old name follow from
    the new one."""
    old = obj["metadata"]["name"]
    found = copy.deepcopy(obj)
    for metadata in _metadata(found):
        labels = metadata.get("labels") or {}
        for key, value in labels.items():
            labels[key] = _following(value, old, name)
    found["metadata"]["name"] = name
    annotations = found["metadata"].get("annotations") or {}
    if LAST_APPLIED in annotations:
        # Arena reads the bounds of a job from this annotation.
        del annotations[LAST_APPLIED]
        annotations[LAST_APPLIED] = json.dumps(found, separators=(",", ":")) + "\n"
    return found


def _following(value: str, old: str, new: str) -> str:
    """Such as the value JOB, or JOB-launcher."""
    return new + value[len(old) :] if value == old or value.startswith(f"{old}-") else value


def _metadata(obj: Obj) -> Iterator[Obj]:
    """That of the object, and of all its pod templates."""
    yield obj["metadata"]
    for roles in (obj.get("spec") or {}).values():
        if isinstance(roles, dict):
            for role in roles.values():
                if isinstance(role, dict) and isinstance(role.get("template"), dict) and "metadata" in role["template"]:
                    yield role["template"]["metadata"]
