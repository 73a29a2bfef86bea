# SPDX-License-Identifier: Apache-2.0
"""The strategy of pods, composed of defaults, rules and the table row."""

from __future__ import annotations

from collections.abc import Iterable

from springtide.api.field_errors import FieldError
from springtide.local.kinds.pod.containers_resources import amount
from springtide.local.kinds.pod.pod_defaults import default_pod
from springtide.local.kinds.pod.pod_rules import validate_new_pod, validate_pod
from springtide.local.kinds.pod.pod_scheduling import match_own_labels
from springtide.local.kinds.pod.pod_table import COLUMNS, pod_cells, pod_row_conditions
from springtide.local.kinds.pod.pod_updates import validate_pod_status, validate_pod_update
from springtide.local.kinds.pod.pod_warnings import pod_warnings
from springtide.local.kinds.strategy import Obj, Strategy

_GATED: Obj = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def _prepare_create(pod: Obj) -> None:
    spec: Obj = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        since = pod["metadata"].get("creationTimestamp")
        pod["status"]["conditions"] = [{**_GATED, "lastTransitionTime": since}]
    if spec.get("affinity") or spec.get("topologySpreadConstraints"):
        match_own_labels(pod)


def qos_class(spec: Obj) -> str:
    """The quality-of-service class of a pod: Guaranteed, Burstable or BestEffort."""
    if (own := spec.get("resources")) is not None and (own.get("requests") or own.get("limits")):
        holders: list[Obj] = [own]
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        holders = [container.get("resources") or {} for container in containers]
    asked = {(side, name) for resources in holders for side, name in _compute(resources)}
    if not asked:
        return "BestEffort"
    return "Guaranteed" if all(_guaranteed(resources) for resources in holders) else "Burstable"


def _compute(resources: Obj) -> Iterable[tuple[str, str]]:
    for side in ("requests", "limits"):
        for name, quantity in (resources.get(side) or {}).items():
            if name in ("cpu", "memory") and amount(quantity):
                yield side, name


def _guaranteed(resources: Obj) -> bool:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    return all(
        amount(limits.get(name)) and amount(requests.get(name, limits.get(name))) == amount(limits.get(name))
        for name in ("cpu", "memory")
    )


def _prepare_status(new: Obj, old: Obj) -> None:
    """Keep fields that kubelets of older versions omit."""
    meta, before = new["metadata"], old["metadata"]
    meta.pop("deletionTimestamp", None)
    meta.pop("ownerReferences", None)
    for field in ("deletionTimestamp", "ownerReferences"):
        if field in before:
            meta[field] = before[field]
    status, stored = new.setdefault("status", {}), old.get("status") or {}
    for field in ("qosClass", "observedGeneration"):
        if not status.get(field) and stored.get(field):
            status[field] = stored[field]
    generations: dict[str, list[int]] = {}
    for condition in stored.get("conditions") or ():
        generations.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        kept = generations.get(condition.get("type", ""))
        seen = kept.pop(0) if kept else 0
        if seen and not condition.get("observedGeneration"):
            condition["observedGeneration"] = seen


def _validate(pod: Obj) -> list[FieldError]:
    """Only a pod that is being created has no resourceVersion yet."""
    errors = validate_pod(pod)
    return errors if "resourceVersion" in pod["metadata"] else errors + validate_new_pod(pod)


def _of_spec(pod: Obj, field: str) -> str:
    value: str = (pod.get("spec") or {}).get(field) or ""
    return value


def _of_status(pod: Obj, field: str) -> str:
    value: str = (pod.get("status") or {}).get(field) or ""
    return value


def _addresses(pod: Obj) -> str:
    return ",".join(entry.get("ip", "") for entry in (pod.get("status") or {}).get("podIPs") or ())


POD = Strategy(
    default=default_pod,
    prepare_create=_prepare_create,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=validate_pod_update,
    validate_status=validate_pod_status,
    has_status=True,
    has_generation=True,
    columns=COLUMNS,
    cells=pod_cells,
    row_conditions=pod_row_conditions,
    fields={
        "spec.nodeName": lambda pod: _of_spec(pod, "nodeName"),
        "spec.restartPolicy": lambda pod: _of_spec(pod, "restartPolicy"),
        "spec.schedulerName": lambda pod: _of_spec(pod, "schedulerName"),
        "spec.serviceAccountName": lambda pod: _of_spec(pod, "serviceAccountName"),
        "spec.hostNetwork": lambda pod: "true" if (pod.get("spec") or {}).get("hostNetwork") else "false",
        "status.phase": lambda pod: _of_status(pod, "phase"),
        "status.podIP": lambda pod: _of_status(pod, "podIP"),
        "status.podIPs": _addresses,
        "status.nominatedNodeName": lambda pod: _of_status(pod, "nominatedNodeName"),
    },
    warnings=pod_warnings,
)
