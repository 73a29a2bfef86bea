# SPDX-License-Identifier: Apache-2.0
"""The whole status of a pod, derived from its observed state, and the patch that updates the API.

Pure. `derive` returns the status as kubelet would write it; a terminal phase is held back until nothing runs any more.
`difference` returns the smallest patch: only fields that changed, and of the conditions only kubelet's own, merged by
type, so that those of others (readiness gates, disruption) are never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods.lifecycle import Ending, ending, is_initialized, starts_over
from springtide.local.kubelet.pods.observed import Observed
from springtide.local.kubelet.specs import pod_specs
from springtide.local.kubelet.status.conditions import OWN, Signs, conditions, disruption_target
from springtide.local.kubelet.status.container_status import UNKNOWN, statuses
from springtide.local.kubelet.status.moments import stamp
from springtide.local.kubelet.status.phases import phase

_DEADLINE = {
    "reason": "DeadlineExceeded",
    "message": "Pod was active on the node longer than the specified deadline",
}
_SHUTDOWN = {
    "reason": "Terminated",
    "message": "Pod was terminated in response to imminent node shutdown.",
}
_LOST = {
    "terminated": {
        "reason": UNKNOWN,
        "message": "The container could not be located when the pod was terminated",
        "exitCode": 137,
        "startedAt": None,
        "finishedAt": None,
    }
}


@dataclass(frozen=True, slots=True)
class Place:
    """The addresses of the pod and its host."""

    host_address: str
    pod_address: str
    """Empty until the pod has one."""


def derive(pod: Mapping[str, Any], seen: Observed, old: Mapping[str, Any], place: Place, now: float) -> Obj:
    """Derive the new status; `old` is the last reported one. With `seen.finished` it is the final status."""
    status: Obj = {
        "containerStatuses": statuses(pod, "containers", seen, old),
        "hostIP": place.host_address,
        "hostIPs": [{"ip": place.host_address}],
        "startTime": old.get("startTime") or stamp(now),
    }
    for field, name in (
        ("initContainers", "initContainerStatuses"),
        ("ephemeralContainers", "ephemeralContainerStatuses"),
    ):
        if found := statuses(pod, field, seen, old):
            status[name] = found
    if place.pod_address:
        status |= {"podIP": place.pod_address, "podIPs": [{"ip": place.pod_address}]}
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    if qos := (old.get("qosClass") or (pod.get("status") or {}).get("qosClass")):
        status["qosClass"] = qos
    if seen.finished:
        _account_for_all(pod, status)
    status |= _phase(pod, seen, old, status, now)
    current = (pod.get("status") or {}).get("conditions") or ()
    others = [condition for condition in current if condition["type"] not in OWN]
    ours = [condition for condition in old.get("conditions") or () if condition["type"] in OWN]
    signs = Signs(seen.sandbox and not _lacks_volumes(seen), starts_over(pod, seen))
    status["conditions"] = conditions(pod, status["phase"], _by_name(status), signs, [*others, *ours], stamp(now))
    if status.get("reason") == _SHUTDOWN["reason"] and _is_interrupted(seen):
        status["conditions"].append(disruption_target(pod, _SHUTDOWN["message"], others, stamp(now)))
    return status


def _lacks_volumes(seen: Observed) -> bool:
    """Kubelet creates the sandbox after the volumes: until these are ready, containers cannot start."""
    return any(not failure.reason for failure in seen.failures.values())


def _by_name(status: Obj) -> dict[str, Obj]:
    both = (*(status.get("initContainerStatuses") or ()), *status["containerStatuses"])
    return {container["name"]: container for container in both}


def _phase(pod: Mapping[str, Any], seen: Observed, old: Mapping[str, Any], status: Obj, now: float) -> Obj:
    """Phase, with reason and message where they belong to it."""
    before = str(old.get("phase") or "Pending")
    kept = {field: old[field] for field in ("reason", "message") if old.get(field)}
    if before in pod_specs.TERMINAL:
        return {"phase": before} | kept
    if ending(pod, seen, now) is Ending.DEADLINE:
        found: Obj = {"phase": "Failed"} | _DEADLINE
    elif starts_over(pod, seen) and not seen.finished:
        found = {"phase": before}
    else:
        found = {"phase": phase(pod, _by_name(status), is_initialized(pod, seen), seen.finished)}
    if seen.finished and found["phase"] not in pod_specs.TERMINAL:
        found = {"phase": "Failed"}
    if found["phase"] == "Failed" and "reason" not in found and _is_interrupted(seen):
        found |= _SHUTDOWN
    runs = any(state.status == "running" for state in seen.states.values())
    if found["phase"] in pod_specs.TERMINAL and runs:
        found = {"phase": before}
    return found | (kept if found["phase"] == before else {})


def _is_interrupted(seen: Observed) -> bool:
    """Whether the newest attempt of a container ended with the node."""
    return any(seen.interrupted.get(name) == state.attempt for name, state in seen.states.items())


def _account_for_all(pod: Mapping[str, Any], status: Obj) -> None:
    """In the final status no container may be waiting: those without a known end are reported as lost."""
    inits = status.get("initContainerStatuses") or []
    reached = max((number for number, one in enumerate(inits) if _has_begun(one)), default=-1)
    lost = list(inits[: reached + 1])
    if all(one["ready"] or one["started"] for one in inits) or any(map(_has_begun, status["containerStatuses"])):
        lost += status["containerStatuses"]
    for container in lost:
        if "terminated" not in container["state"]:
            container |= {"state": _LOST, "ready": False, "started": False}


def _has_begun(container: Obj) -> bool:
    return "waiting" not in container["state"] or bool(container["lastState"])


def difference(pod: Mapping[str, Any], old: Mapping[str, Any], new: Obj) -> Obj | None:
    """A strategic merge patch from one status to the next, bound to the pod's uid; None when nothing changed."""
    changed = {name: value for name, value in new.items() if name != "conditions" and old.get(name) != value}
    changed |= {name: None for name in ("reason", "message") if old.get(name) and name not in new}
    # These lists are merged by address otherwise, and a pod with a new address would have both.
    changed |= {name: [{"$patch": "replace"}, *changed[name]] for name in ("podIPs", "hostIPs") if name in changed}
    before = {condition["type"]: _essence(condition) for condition in old.get("conditions") or ()}
    fresh = [one for one in new["conditions"] if before.get(one["type"]) != _essence(one)]
    if fresh:
        changed["conditions"] = [_replacing(condition) for condition in fresh]
    if not changed:
        return None
    return {"metadata": {"uid": pod_specs.uid_of(pod)}, "status": changed}


def _essence(condition: Obj) -> Obj:
    """A condition without the null fields that the API server adds."""
    return {name: value for name, value in condition.items() if value is not None}


def _replacing(condition: Obj) -> Obj:
    """Conditions are merged by type, so fields that no longer apply have to be set to null."""
    return {"reason": None, "message": None} | condition
