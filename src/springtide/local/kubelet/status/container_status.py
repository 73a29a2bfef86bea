# SPDX-License-Identifier: Apache-2.0
"""The status of one container of a pod, from its attempts and its probes.

Pure, and with kubelet's choices: a container that will run again but cannot yet is *waiting*, with the end of its last
attempt in `lastState`; one whose postStart hook is running has not started; what the agent no longer knows is taken
from the status reported before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import restarts
from springtide.local.kubelet.pods.observed import Observed, Verdict
from springtide.local.kubelet.specs import pod_specs
from springtide.local.kubelet.status.moments import stamp
from springtide.local.runtime.contract import ContainerState

MESSAGES = 12 * 1024
"""Bytes that the termination messages of all containers of a pod may have together."""
UNKNOWN = "ContainerStatusUnknown"
SCHEME = "springtide"


def container_id(uid: str, state: ContainerState) -> str:
    return f"{SCHEME}://{uid}/{state.name}/{state.attempt}"


def statuses(pod: Mapping[str, Any], field: str, seen: Observed, old: Mapping[str, Any]) -> list[Obj]:
    """The statuses of the containers in one list of the spec: init containers in their order, the others by name."""
    containers = pod["spec"].get(field) or ()
    before = {status["name"]: status for status in old.get(_STATUS_FIELDS[field]) or ()}
    found = [_status(pod, container, field, seen, before.get(container["name"])) for container in containers]
    return found if field == "initContainers" else sorted(found, key=lambda status: str(status["name"]))


_REMOVED = {
    "reason": "RestartingAllContainers",
    "message": "The container is removed because RestartAllContainers in place",
}
_STATUS_FIELDS = {
    "containers": "containerStatuses",
    "initContainers": "initContainerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}


def _status(pod: Mapping[str, Any], container: Obj, field: str, seen: Observed, old: Obj | None) -> Obj:
    name = container["name"]
    state = seen.states.get(name)
    status = _header(container)
    if state is None:
        status |= _of_none(pod, container, seen, old)
    elif state.attempt <= seen.reset.get(name, -1):
        status |= {"state": {"waiting": _REMOVED}, "lastState": {"terminated": _REMOVED | {"exitCode": 137}}}
        status["restartCount"] = state.attempt
    elif name in seen.starting:
        last = _terminated(pod, seen.previous.get(name)) or (old or {}).get("lastState") or {}
        status |= {"state": _waiting(pod), "lastState": last, "restartCount": state.attempt}
    else:
        status |= _of_attempt(pod, container, field, seen, old)
    started = _is_started(container, status, seen, old)
    status["ready"] = _is_ready(container, status | {"started": started}, field, seen, old)
    return status if field == "ephemeralContainers" else status | {"started": started}


def _header(container: Obj) -> Obj:
    header: Obj = {"name": container["name"], "image": container.get("image", ""), "imageID": "", "lastState": {}}
    mounts = [_mount(mount) for mount in container.get("volumeMounts") or ()]
    return header | {"restartCount": 0} | ({"volumeMounts": mounts} if mounts else {})


def _mount(mount: Obj) -> Obj:
    status: Obj = {"name": mount["name"], "mountPath": mount["mountPath"]}
    return status | {"readOnly": True, "recursiveReadOnly": "Disabled"} if mount.get("readOnly") else status


def _of_none(pod: Mapping[str, Any], container: Obj, seen: Observed, old: Obj | None) -> Obj:
    """No attempt of the container is on this node: not yet, or no longer."""
    old = old or {}
    old_state = old.get("state") or {}
    if "terminated" in old_state:
        kept = ("state", "lastState", "restartCount", "containerID", "imageID")
        return {name: old[name] for name in kept if name in old}
    count, last = old.get("restartCount", 0), old.get("lastState") or {}
    if "running" in old_state and not last:
        last = {"terminated": _UNLOCATED}
        count += 0 if pod_specs.is_deleted(pod) else 1
    return {"state": _failing(container, seen) or _waiting(pod), "lastState": last, "restartCount": count}


_UNLOCATED = {
    "reason": UNKNOWN,
    "message": "The container could not be located when the pod was deleted.  The container used to be Running",
    "exitCode": 137,
    "startedAt": None,
    "finishedAt": None,
}


def _of_attempt(pod: Mapping[str, Any], container: Obj, field: str, seen: Observed, old: Obj | None) -> Obj:
    state = seen.states[container["name"]]
    last = _terminated(pod, seen.previous.get(state.name)) or _older_end(pod, state, old)
    resources = container.get("resources") or {}
    status: Obj = {
        "image": seen.images.get(state.name, container.get("image", "")),
        "restartCount": state.attempt,
        "containerID": container_id(pod_specs.uid_of(pod), state),
        "resources": resources,
    }
    if resources.get("requests"):
        status["allocatedResources"] = resources["requests"]
    if state.status == "running":
        return status | {"state": {"running": {"startedAt": stamp(state.started)}}, "lastState": last}
    end = _terminated(pod, state)
    waits = _failing(container, seen) if _runs_again(pod, container, field, state) else None
    return status | ({"state": waits, "lastState": end} if waits else {"state": end, "lastState": last})


def _runs_again(pod: Mapping[str, Any], container: Obj, field: str, state: ContainerState) -> bool:
    if pod_specs.is_deleted(pod) or field == "ephemeralContainers":
        return False
    if field == "initContainers" and state.exit_code == 0:
        return False
    return restarts.should_restart(container, pod["spec"].get("restartPolicy") or "Always", state.exit_code)


def _older_end(pod: Mapping[str, Any], state: ContainerState, old: Obj | None) -> Obj:
    """The end of the previous attempt, from the status reported when it was still known."""
    if old is None or state.attempt == 0:
        return {}
    ours = container_id(pod_specs.uid_of(pod), state)
    if old.get("containerID") != ours and "terminated" in (old.get("state") or {}):
        return dict(old["state"])
    return dict(old.get("lastState") or {})


def _waiting(pod: Mapping[str, Any]) -> Obj:
    return {"waiting": {"reason": "PodInitializing" if pod_specs.init_containers(pod) else "ContainerCreating"}}


def _failing(container: Obj, seen: Observed) -> Obj | None:
    failure = seen.failures.get(container["name"])
    if failure is None or not failure.reason:
        return None
    return {"waiting": {"reason": failure.reason} | ({"message": failure.message} if failure.message else {})}


def _terminated(pod: Mapping[str, Any], state: ContainerState | None) -> Obj:
    if state is None or state.status != "exited":
        return {}
    terminated: Obj = {
        "exitCode": state.exit_code,
        "reason": state.reason,
        "startedAt": stamp(state.started or state.finished),
        "finishedAt": stamp(state.finished),
        "containerID": container_id(pod_specs.uid_of(pod), state),
    }
    if state.message:
        allowed = MESSAGES // len(pod_specs.all_containers(pod))
        terminated["message"] = state.message.encode()[:allowed].decode(errors="ignore")
    return {"terminated": terminated}


def _is_started(container: Obj, status: Obj, seen: Observed, old: Obj | None) -> bool:
    if "running" not in status["state"]:
        return False
    startup = seen.verdicts.get(container["name"], Verdict()).startup
    if startup is not None:
        return startup
    return not container.get("startupProbe") or _said_before("started", status, old)


def _is_ready(container: Obj, status: Obj, field: str, seen: Observed, old: Obj | None) -> bool:
    if field == "initContainers" and not pod_specs.is_sidecar(container):
        return (status["state"].get("terminated") or {}).get("exitCode") == 0
    if field == "ephemeralContainers" or not status["started"]:
        return False
    readiness = seen.verdicts.get(container["name"], Verdict()).readiness
    if readiness is not None:
        return readiness
    return not container.get("readinessProbe") or _said_before("ready", status, old)


def _said_before(field: str, status: Obj, old: Obj | None) -> bool:
    """After a restart of the agent, the reported result for a running attempt holds until its probes have a new one."""
    return old is not None and old.get("containerID") == status.get("containerID") and bool(old.get(field))
