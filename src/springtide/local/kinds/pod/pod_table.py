# SPDX-License-Identifier: Apache-2.0
"""The table row of a pod, as shown by `kubectl get pods`.

The status word is not a field of the pod: it is derived from its containers, the most important one first. Users and
scripts know these words (`Init:0/1`, `CrashLoopBackOff`, `Completed`), so they follow kube-apiserver's printer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from springtide.local.kinds.columns import AGE, NAME, NONE, age_of, name_of, since
from springtide.local.kinds.strategy import Column, Obj

COLUMNS = (
    NAME,
    Column(
        "Ready",
        description="The aggregate readiness state of this pod for accepting traffic.",
    ),
    Column(
        "Status",
        description="The aggregate status of the containers in this pod.",
    ),
    Column(
        "Restarts",
        description=(
            "The number of times the containers in this pod have been restarted and when the last container in "
            "this pod has restarted."
        ),
    ),
    AGE,
    Column(
        "IP",
        description=(
            "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated."
        ),
        priority=1,
    ),
    Column(
        "Node",
        description=(
            "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for "
            "scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this "
            "node becomes responsible for the lifecycle of this pod. This field should not be used to express a "
            "desire for the pod to be scheduled on a specific node. "
            "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename"
        ),
        priority=1,
    ),
    Column(
        "Nominated Node",
        description=(
            "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be "
            "scheduled right away as preemption victims receive their graceful termination periods. This field "
            "does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod "
            "elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on "
            "this node to a higher priority pod that is created after preemption. As a result, this field may be "
            "different than PodSpec.nodeName when the pod is scheduled."
        ),
        priority=1,
    ),
    Column(
        "Readiness Gates",
        description=(
            "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its "
            "containers are ready AND all conditions specified in the readiness gates have status equal to "
            '"True" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates'
        ),
        priority=1,
    ),
)


class _Tally:
    """Totals of the containers evaluated so far."""

    __slots__ = ("last_restart", "ready", "restarts")

    def __init__(self) -> None:
        self.ready, self.restarts, self.last_restart = 0, 0, ""

    def count_restarts(self, status: Obj) -> None:
        self.restarts += status.get("restartCount", 0)
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.last_restart = max(self.last_restart, ended)


def pod_cells(pod: Obj, now: str) -> Sequence[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    tally, reason = _Tally(), _first_word(status)
    sidecar_tally = _Tally()
    stuck = _initialising(spec, status, sidecars, (tally, sidecar_tally))
    if stuck:
        reason = stuck
    if not stuck or _holds(status, "Initialized"):
        tally.restarts, tally.last_restart = sidecar_tally.restarts, sidecar_tally.last_restart
        reason = _running(status, reason, tally)
    total = len(spec.get("containers") or ()) + len(sidecars)
    addresses = status.get("podIPs")
    return (
        name_of(pod),
        f"{tally.ready}/{total}",
        _last_word(pod, status, reason),
        f"{tally.restarts} ({since(tally.last_restart, now)} ago)"
        if tally.restarts and tally.last_restart
        else str(tally.restarts),
        age_of(pod, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    )


def _first_word(status: Obj) -> str:
    word: str = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return word


def _initialising(spec: Obj, status: Obj, sidecars: Iterable[str], tallies: tuple[_Tally, _Tally]) -> str:
    """The status word of the init container that the pod waits for; empty when all have finished."""
    tally, sidecar_tally = tallies
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        tally.count_restarts(container)
        is_sidecar = container.get("name") in sidecars
        if is_sidecar:
            sidecar_tally.count_restarts(container)
        state: Obj = container.get("state") or {}
        ended: Obj | None = state.get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            tally.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_exit_word(ended)}"
        waiting: str = (state.get("waiting") or {}).get("reason", "")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(spec.get('initContainers') or ())}"
    return ""


def _exit_word(ended: Mapping[str, Any]) -> str:
    if reason := ended.get("reason"):
        return str(reason)
    if signal := ended.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _running(status: Obj, reason: str, tally: _Tally) -> str:
    """The word of the first container that has one; a pod with running and completed ones counts as running."""
    any_running, failure = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        tally.count_restarts(container)
        state: Obj = container.get("state") or {}
        ended: Obj | None = state.get("terminated")
        waiting = (state.get("waiting") or {}).get("reason")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _exit_word(ended)
            if ended.get("exitCode"):
                failure = reason
        elif container.get("ready") and state.get("running") is not None:
            any_running = True
            tally.ready += 1
    if reason != "Completed":
        return reason
    if any_running and _holds(status, "Ready"):
        return "Running"
    return failure or ("NotReady" if any_running else reason)


def _last_word(pod: Obj, status: Obj, reason: str) -> str:
    if pod["metadata"].get("deletionTimestamp") is None:
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Failed", "Succeeded") else "Terminating"


def _holds(status: Obj, kind: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _gates(spec: Obj, status: Obj) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    return f"{sum(_holds(status, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


def pod_row_conditions(pod: Obj) -> list[Obj]:
    """Conditions of the table row: clients may grey out finished pods."""
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Succeeded":
        message = "The pod has completed successfully."
    elif phase == "Failed":
        message = "The pod failed."
    else:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
