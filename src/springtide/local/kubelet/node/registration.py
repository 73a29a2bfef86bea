# SPDX-License-Identifier: Apache-2.0
"""The node's status and lease: capacity, addresses, health, machine. `heartbeat` sends them.

The Node object is created by the supervisor, with the capacity that the user asked for in an annotation; the agent
fills in the rest. As with kubelet, conditions carry a heartbeat that is refreshed every few minutes, while the Lease
shows within seconds whether the agent lives. Pure, except for logging a capacity annotation that cannot be parsed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

import springtide
from springtide.kube.resources import Obj
from springtide.local.kubelet.node.machine import Machine, capacity
from springtide.local.kubelet.status.moments import micro_stamp, stamp

logger = logging.getLogger(__name__)

CAPACITY = "springtide.dev/capacity"
INDEX = "springtide.dev/node-index"
LEASE_SECONDS = 40

_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def index_of(node: Mapping[str, Any]) -> int | None:
    """The number that decides the node's addresses; None until the supervisor has assigned one."""
    text = (node["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdigit() else None


def word_of(node: Mapping[str, Any]) -> tuple[str, str]:
    """The object's uid and its capacity annotation: when either changes, the status has to be written again."""
    return node["metadata"]["uid"], (node["metadata"].get("annotations") or {}).get(CAPACITY, "")


def asked_of(node: Mapping[str, Any]) -> dict[str, str]:
    """The capacity that the user gave the node; empty where the annotation cannot be parsed."""
    text = (node["metadata"].get("annotations") or {}).get(CAPACITY) or "{}"
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError as error:
        logger.error("annotation %s of node %s is ignored: %s", CAPACITY, node["metadata"]["name"], error)
        return {}


def capacity_of(node: Mapping[str, Any], machine: Machine, devices: Mapping[str, str]) -> dict[str, str]:
    """The machine's capacity and its devices, overridden by what the user asked for."""
    return capacity(machine) | dict(devices) | asked_of(node)


def labels(node: str, machine: Machine) -> dict[str, str]:
    system, architecture = machine.operating_system, machine.architecture
    return {
        "kubernetes.io/hostname": node,
        "kubernetes.io/os": system,
        "kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": system,
        "beta.kubernetes.io/arch": architecture,
    }


def status(node: Mapping[str, Any], machine: Machine, resources: Mapping[str, str], port: int, now: float) -> Obj:
    """The whole status. All capacity is allocatable: nothing is reserved for the system."""
    old = (node.get("status") or {}).get("conditions") or ()
    before = {condition["type"]: condition for condition in old}
    return {
        "capacity": dict(resources),
        "allocatable": dict(resources),
        "conditions": [_condition(*parts, before.get(parts[0]), stamp(now)) for parts in _HEALTHY],
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": node["metadata"]["name"]},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            "machineID": machine.machine_id,
            "systemUUID": machine.machine_id,
            "bootID": machine.boot_id,
            "kernelVersion": machine.kernel,
            "osImage": machine.os_image,
            "containerRuntimeVersion": f"springtide://{springtide.__version__}",
            "kubeletVersion": f"{springtide.KUBERNETES_VERSION}+springtide.{springtide.__version__}",
            "kubeProxyVersion": "",
            "operatingSystem": machine.operating_system,
            "architecture": machine.architecture,
        },
        "images": [],
    }


def _condition(kind: str, value: str, reason: str, message: str, old: Obj | None, now: str) -> Obj:
    since = old["lastTransitionTime"] if old is not None and old["status"] == value else now
    condition = {"type": kind, "status": value, "reason": reason, "message": message}
    return condition | {"lastHeartbeatTime": now, "lastTransitionTime": since}


def lease(node: Mapping[str, Any], now: float) -> Obj:
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": metadata["name"], "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": renewal(metadata["name"], now)["spec"],
    }


def renewal(node: str, now: float) -> Obj:
    spec = {"holderIdentity": node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": micro_stamp(now)}
    return {"spec": spec}
