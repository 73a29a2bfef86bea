# SPDX-License-Identifier: Apache-2.0
"""The table row of a pod, as shown by `kubectl get pods`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.local.kinds.columns import AGE, NAME, NONE, age_of, name_of, since
from springtide.local.kinds.strategy import Column, Obj
from springtide.views.pod_status import holds, pod_status

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


def pod_cells(pod: Obj, now: str) -> Sequence[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    shown = pod_status(pod)
    addresses = status.get("podIPs")
    return (
        name_of(pod),
        f"{shown.ready}/{shown.containers}",
        shown.word,
        f"{shown.restarts} ({since(shown.last_restart, now)} ago)"
        if shown.restarts and shown.last_restart
        else str(shown.restarts),
        age_of(pod, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    )


def _gates(spec: Obj, status: Obj) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    return f"{sum(holds(status, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


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
