# SPDX-License-Identifier: Apache-2.0
"""The pod conditions that kubelet owns, with its reasons and messages, including the way Go prints a list of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import restarts
from springtide.local.kubelet.specs import pod_specs

_RESTARTING = "AllContainersRestarting"
OWN = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", _RESTARTING)
_PHASE_REASONS = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


class Signs(NamedTuple):
    """Inputs of conditions that are not part of container statuses."""

    sandbox: bool
    starting_over: bool = False


def conditions(
    pod: Mapping[str, Any], phase: str, containers: Mapping[str, Obj], signs: Signs, old: Iterable[Obj], now: str
) -> list[Obj]:
    """Kubelet's own conditions, with the time of their last change; `containers` are init and main statuses by name."""
    old = list(old)
    before = {condition["type"]: condition for condition in old}
    ready = _containers_ready(pod, phase, containers)
    found = [
        _condition("PodReadyToStartContainers", signs.sandbox),
        _initialized(pod, phase, containers),
        _ready(pod, ready, [condition for condition in old if condition["type"] not in OWN]),
        ready,
        _condition("PodScheduled", True),
        *_restarting(pod, phase, signs.starting_over),
    ]
    return [_dated(pod, condition, before.get(condition["type"]), now) for condition in found]


def disruption_target(pod: Mapping[str, Any], message: str, old: Iterable[Obj], now: str) -> Obj:
    """The condition of a pod that ended with its node. Others set it as well, so it is only ever added."""
    before = next((condition for condition in old if condition["type"] == "DisruptionTarget"), None)
    return _dated(pod, _condition("DisruptionTarget", True, "TerminationByKubelet", message), before, now)


def _condition(kind: str, status: bool, reason: str = "", message: str = "") -> Obj:
    condition = {"type": kind, "status": "True" if status else "False"}
    return condition | ({"reason": reason} if reason else {}) | ({"message": message} if message else {})


def _dated(pod: Mapping[str, Any], condition: Obj, before: Obj | None, now: str) -> Obj:
    same = before is not None and before["status"] == condition["status"]
    moment = before.get("lastTransitionTime", now) if before is not None and same else now
    generation = pod["metadata"].get("generation")
    return condition | {"lastTransitionTime": moment} | ({"observedGeneration": generation} if generation else {})


def _initialized(pod: Mapping[str, Any], phase: str, containers: Mapping[str, Obj]) -> Obj:
    kind, inits = "Initialized", pod_specs.init_containers(pod)
    incomplete = [init["name"] for init in inits if not _is_initialized(init, containers[init["name"]])]
    if phase == "Succeeded":
        return _condition(kind, True, "PodCompleted")
    if not incomplete or any(_was_started(containers[one["name"]]) for one in pod_specs.main_containers(pod)):
        return _condition(kind, True)
    message = f"containers with incomplete status: {_listed(incomplete)}"
    return _condition(kind, False, "ContainersNotInitialized", message)


def _is_initialized(container: Obj, status: Obj) -> bool:
    return bool(status["started"] if pod_specs.is_sidecar(container) else status["ready"])


def _was_started(status: Obj) -> bool:
    if status.get("started") or "running" in status["state"]:
        return True
    return "terminated" in status["state"] or "terminated" in status["lastState"]


def _restarting(pod: Mapping[str, Any], phase: str, starting_over: bool) -> list[Obj]:
    """Only for pods that have such a restart rule."""
    if not restarts.could_restart_all((*pod_specs.init_containers(pod), *pod_specs.main_containers(pod))):
        return []
    if not starting_over or phase in _PHASE_REASONS:
        return [_condition(_RESTARTING, False, _PHASE_REASONS.get(phase, ""))]
    message = "container exited with restart policy rule"
    return [_condition(_RESTARTING, True, "RestartAllContainersStarted", message)]


def _containers_ready(pod: Mapping[str, Any], phase: str, containers: Mapping[str, Obj]) -> Obj:
    kind = "ContainersReady"
    if phase in _PHASE_REASONS:
        return _condition(kind, False, _PHASE_REASONS[phase])
    sidecars = [init for init in pod_specs.init_containers(pod) if pod_specs.is_sidecar(init)]
    asked = [container["name"] for container in (*sidecars, *pod_specs.main_containers(pod))]
    unready = [name for name in asked if not containers[name]["ready"]]
    if unready:
        return _condition(kind, False, "ContainersNotReady", f"containers with unready status: {_listed(unready)}")
    return _condition(kind, True)


def _ready(pod: Mapping[str, Any], containers_ready: Obj, others: Iterable[Obj]) -> Obj:
    if containers_ready["status"] != "True":
        return containers_ready | {"type": "Ready"}
    known = {condition["type"]: condition["status"] for condition in others}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    messages = [_gate_message(gate, known.get(gate)) for gate in gates if known.get(gate) != "True"]
    if messages:
        return _condition("Ready", False, "ReadinessGatesNotReady", ", ".join(messages))
    return _condition("Ready", True)


def _gate_message(gate: str, status: str | None) -> str:
    if status is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    return f'the status of pod readiness gate "{gate}" is not "True", but {status}'


def _listed(names: list[str]) -> str:
    return f"[{' '.join(names)}]"
