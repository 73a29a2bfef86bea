# SPDX-License-Identifier: Apache-2.0
"""Priority: sets a pod's priority from its class, and allows at most one default class."""

from __future__ import annotations

from typing import Final

from springtide.local.admission.request import CREATE, UPDATE, AdmissionRequest, Obj, Reader, forbidden, forbidden_early
from springtide.local.kinds.groups.scheduling import PREEMPT, SYSTEM_CLASSES

CLASSES: Final = "priorityclasses.scheduling.k8s.io"


_DESCRIPTIONS: Final = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}


def system_classes() -> list[Obj]:
    """The two classes of every cluster; the server creates them at start."""
    return [_system_class(name, value, _DESCRIPTIONS[name]) for name, value in SYSTEM_CLASSES.items()]


def _system_class(name: str, value: int, description: str) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": PREEMPT,
    }


class PodPriority:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == "pods" and not subresource and operation in (CREATE, UPDATE)

    async def admit(self, request: AdmissionRequest) -> None:
        spec = request.object()["spec"]
        if request.operation == UPDATE:
            _keep(spec, (request.old or {}).get("spec", {}))
            return
        chosen = self._class_of(request, spec)
        if chosen:
            spec["priorityClassName"] = chosen["metadata"]["name"]
        priority, policy = chosen.get("value", 0), chosen.get("preemptionPolicy", PREEMPT if not chosen else None)
        _settle(request, spec, priority, policy)

    def _class_of(self, request: AdmissionRequest, spec: Obj) -> Obj:
        """The class that the pod names, or the default one; empty when there is neither."""
        name = spec.get("priorityClassName")
        if not name:
            return default_class(self._reader) or {}
        found = self._reader.get(CLASSES, "", name)
        if found is None:
            raise forbidden_early(request, f"no PriorityClass with name {name} was found")
        return found


def _keep(spec: Obj, old: Obj) -> None:
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and old.get(field) is not None:
            spec[field] = old[field]


def _settle(request: AdmissionRequest, spec: Obj, priority: int, policy: str | None) -> None:
    given = spec.get("priority")
    computed = "priority admission controller computed"
    if given is not None and given != priority:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"{computed} {priority} from the given PriorityClass name"
        )
        raise forbidden_early(request, why)
    spec["priority"] = priority
    if policy is None:
        return
    wanted = spec.get("preemptionPolicy")
    if wanted is not None and wanted != policy:
        why = (
            f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; "
            f"{computed} {policy} from the given PriorityClass name"
        )
        raise forbidden_early(request, why)
    spec["preemptionPolicy"] = policy


def default_class(reader: Reader) -> Obj | None:
    """The default class; the one with the lowest value if a race has created two."""
    defaults = [found for found in reader.list(CLASSES) if found.get("globalDefault")]
    return min(defaults, key=lambda found: int(found.get("value", 0)), default=None)


class OneDefaultClass:
    """Rejects a second default among the priority classes."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == CLASSES and operation in (CREATE, UPDATE)

    async def admit(self, request: AdmissionRequest) -> None:
        if not request.object().get("globalDefault"):
            return
        current = default_class(self._reader)
        if current is None:
            return
        name = current["metadata"]["name"]
        if request.operation == CREATE or name != request.object()["metadata"]["name"]:
            raise forbidden(request, f"PriorityClass {name} is already marked as default. Only one default can exist")
