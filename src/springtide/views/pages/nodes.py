# SPDX-License-Identifier: Apache-2.0
"""A node as it is shown: its state, and how much of it pods take up."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from springtide.api import gpus, quantity
from springtide.api.mirror_pods import is_mirror
from springtide.api.pod_amounts import pod_requests
from springtide.api.quantity import ZERO, Quantity
from springtide.views.pod_status import pod_status

Obj = Mapping[str, Any]

_MOST_EXCLUSIVE: Final = 100
_TOPOLOGY: Final = ("ack.node.gpu.schedule", "topology")
_SHARED: Final = "aliyun.com/gpu-mem"
_SHARED_COUNT: Final = "aliyun.com/gpu-count"
_ALIYUN: Final = "aliyun.com/gpu"
_ROLE_LABELS: Final = ("node-role.kubernetes.io/", "kubernetes.io/role")
_ALLOCATION: Final = "scheduler.framework.gpushare.allocation"
_GPU_OF_POD: Final = "ALIYUN_COM_GPU_MEM_IDX"
"""Annotations in which a scheduler for shared GPUs writes what memory of which GPU a pod has."""


class GpuMode(Enum):
    """How GPUs of a node are given to pods: Arena's name, its alias and short form, and its field in JSON."""

    NONE = ("Normal", "none", "n", "normalNodes")
    EXCLUSIVE = ("GPUExclusive", "exclusive", "e", "gpuExclusiveNodes")
    TOPOLOGY = ("GPUTopology", "topology", "t", "gpuTopologyNodes")
    SHARED = ("GPUShare", "share", "s", "gpuShareNodes")

    @property
    def type(self) -> str:
        return self.value[0]

    @property
    def alias(self) -> str:
        return self.value[1]

    @property
    def field(self) -> str:
        return self.value[3]


def mode_by_word(word: str) -> GpuMode | None:
    """The mode with this name, alias or short form."""
    return next((mode for mode in GpuMode if word in mode.value[:3] or word.lower() == mode.alias), None)


@dataclass(frozen=True, slots=True)
class GpuPod:
    """A pod that takes up GPUs of a node."""

    namespace: str
    name: str
    status: str
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    name: str
    address: str
    roles: tuple[str, ...]
    status: str
    mode: GpuMode
    gpus: float
    allocated_gpus: float
    """A part of a GPU, too, where GPUs are shared."""
    unhealthy_gpus: float
    gpu_pods: tuple[GpuPod, ...]
    pods: int
    cpu: tuple[Quantity, Quantity]
    """What pods request, and what the node has."""
    memory: tuple[Quantity, Quantity]

    @property
    def role(self) -> str:
        return ",".join(self.roles)


def node_views(nodes: Iterable[Obj], pods: Iterable[Obj]) -> list[NodeView]:
    """In the order of the nodes. Pods that have ended take up nothing."""
    by_node: dict[str, list[Obj]] = defaultdict(list)
    for pod in pods:
        if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed") and not is_mirror(pod):
            by_node[(pod.get("spec") or {}).get("nodeName") or ""].append(pod)
    return [_view(node, by_node[node["metadata"]["name"]]) for node in nodes]


def _view(node: Obj, pods: Sequence[Obj]) -> NodeView:
    status, mode = node.get("status") or {}, _mode(node)
    allocatable, total = status.get("allocatable") or {}, _gpus(node, mode)
    holding = [pod for pod in pods if pod["metadata"].get("deletionTimestamp") is None]
    requests = [pod_requests(pod["spec"]) for pod in pods]
    addresses = status.get("addresses") or ()
    return NodeView(
        name=node["metadata"]["name"],
        address=addresses[0]["address"] if addresses else "",
        roles=_roles(node["metadata"].get("labels") or {}),
        status=_status(node),
        mode=mode,
        gpus=total,
        allocated_gpus=_allocated(node, mode, total, holding),
        unhealthy_gpus=_unhealthy(node, mode, total),
        gpu_pods=tuple(each for pod in holding if (each := _gpu_pod(pod)).gpus),
        pods=len(pods),
        cpu=_amount(requests, allocatable, "cpu"),
        memory=_amount(requests, allocatable, "memory"),
    )


def _mode(node: Obj) -> GpuMode:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    label, value = _TOPOLOGY
    if gpus.whole(allocatable.get(_SHARED, 0)) > 0:
        return GpuMode.SHARED
    if (node["metadata"].get("labels") or {}).get(label) == value:
        return GpuMode.TOPOLOGY
    if 0 < gpus.whole(allocatable.get(gpus.NVIDIA, 0)) <= _MOST_EXCLUSIVE:
        return GpuMode.EXCLUSIVE
    return GpuMode.NONE


def _resource(mode: GpuMode) -> str:
    """The resource that counts whole GPUs of such a node."""
    return {GpuMode.SHARED: _SHARED_COUNT, GpuMode.TOPOLOGY: _ALIYUN}.get(mode, gpus.NVIDIA)


def _gpus(node: Obj, mode: GpuMode) -> float:
    if mode is GpuMode.NONE:
        return 0
    return gpus.whole(((node.get("status") or {}).get("capacity") or {}).get(_resource(mode), 0))


def _allocated(node: Obj, mode: GpuMode, total: float, pods: Iterable[Obj]) -> float:
    if mode is GpuMode.NONE:
        return 0
    if mode is not GpuMode.SHARED:
        return sum(gpus.of_instance(pod["spec"]) for pod in pods)
    memory = gpus.whole(((node.get("status") or {}).get("capacity") or {}).get(_SHARED, 0))
    each = memory / total if total else 0
    return round(sum(map(_shared_memory, pods)) / each, 1) if each else 0


def _shared_memory(pod: Obj) -> int:
    """Memory of GPUs that a pod was given, as its annotations say; in GiB, like the resource."""
    annotations = pod["metadata"].get("annotations") or {}
    try:
        given = json.loads(annotations.get(_ALLOCATION) or "{}")
        if given:
            return sum(int(amount) for container in given.values() for amount in container.values())
    except (ValueError, AttributeError, TypeError):
        return 0
    limits = ((each.get("resources") or {}).get("limits") or {} for each in pod["spec"].get("containers") or ())
    return sum(gpus.whole(each.get(_SHARED, 0)) for each in limits) if _GPU_OF_POD in annotations else 0


def _unhealthy(node: Obj, mode: GpuMode, total: float) -> float:
    """What the node has and does not offer."""
    status = node.get("status") or {}
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    resource = _SHARED if mode is GpuMode.SHARED else _resource(mode)
    if not total or resource not in allocatable:
        return 0
    has, offers = gpus.whole(capacity.get(resource, 0)), gpus.whole(allocatable[resource])
    if mode is GpuMode.SHARED:
        return int(total) * (has - offers) // has if has else total
    return total - offers


def _gpu_pod(pod: Obj) -> GpuPod:
    metadata = pod["metadata"]
    return GpuPod(
        metadata.get("namespace", ""), metadata["name"], pod_status(pod).word, gpus.of_instance(pod.get("spec") or {})
    )


def _roles(labels: Mapping[str, str]) -> tuple[str, ...]:
    prefix, label = _ROLE_LABELS
    found = {name.removeprefix(prefix) for name in labels if name.startswith(prefix)} | {labels.get(label, "")}
    return tuple(sorted(found - {""}))


def _status(node: Obj) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((each.get("status") for each in conditions if each.get("type") == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _amount(requests: Iterable[Mapping[str, Quantity]], allocatable: Obj, name: str) -> tuple[Quantity, Quantity]:
    taken = sum((each.get(name, ZERO) for each in requests), ZERO)
    return taken, quantity.parse(str(allocatable.get(name, 0)))
