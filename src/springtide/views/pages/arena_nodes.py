# SPDX-License-Identifier: Apache-2.0
"""What Arena prints of nodes: the full texts of `top node`, and its document.

Without Prometheus, from which Arena reads how much GPUs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from springtide.views.pages.nodes import GpuMode, NodeView
from springtide.views.pages.tables import tabwriter

_COLUMNS: Final = ("NAME", "IPADDRESS", "ROLE", "STATUS", "GPU(Total)", "GPU(Allocated)")
_RULE: Final = "-" * 99
_NONE: Final = "<none>"
_ORDER: Final = tuple(GpuMode)
"""Nodes without GPUs come first."""
_RESOURCES: Final = {
    GpuMode.EXCLUSIVE: "nvidia.com/gpu",
    GpuMode.TOPOLOGY: "aliyun.com/gpu",
    GpuMode.SHARED: "aliyun.com/gpu-mem",
}
_DESCRIPTIONS: Final = {
    GpuMode.NONE: "\n  This node has none gpu devices\n",
    GpuMode.EXCLUSIVE: "\n  1.This node is enabled gpu exclusive mode.\n"
    "  2.Pods can request resource 'nvidia.com/gpu' to use gpu exclusive feature on this node\n",
    GpuMode.TOPOLOGY: "\n  1.This node is enabled gpu topology mode.\n"
    "  2.Pods can request resource 'aliyun.com/gpu' to use gpu topology feature on this node\n",
    GpuMode.SHARED: "\n  1.This node is enabled gpu sharing mode.\n"
    "  2.Pods can request resource 'aliyun.com/gpu-mem' to use gpu sharing feature on this node \n",
}


def node_list(views: Sequence[NodeView], *, named: bool = False) -> str:
    """`arena top node`. `named`: the nodes were named, so that totals say nothing about the cluster."""
    ordered = sorted(views, key=lambda view: _ORDER.index(view.mode))
    modes = {view.mode for view in ordered}
    with_gpus = modes - {GpuMode.NONE}
    shows_mode, unhealthy = len(with_gpus) > 1, any(view.unhealthy_gpus for view in ordered)
    extra = [*(["GPU(Mode)"] if shows_mode else []), *(["UNHEALTHY"] if unhealthy else [])]
    lines = ["\t".join((*_COLUMNS, *extra))]
    lines += [_row(view, shows_mode, unhealthy) for view in ordered]
    if len(modes) == 1:
        lines += _totals(ordered, f"of nodes which own resource {_RESOURCES[next(iter(modes))]} ") if with_gpus else []
    elif not named:
        lines += _totals(ordered, "")
    return tabwriter("\n".join(lines) + "\n")


def _row(view: NodeView, shows_mode: bool, unhealthy: bool) -> str:
    cells = [view.name, view.address or "N/A", view.role or _NONE, view.status]
    cells += [_number(view.gpus), _number(view.allocated_gpus)]
    cells += [view.mode.alias] if shows_mode else []
    cells += [_number(view.unhealthy_gpus)] if unhealthy else []
    return "\t".join(cells)


def _totals(views: Sequence[NodeView], which: str) -> list[str]:
    total, taken = sum(view.gpus for view in views), sum(view.allocated_gpus for view in views)
    lines = [_RULE, f"Allocated/Total GPUs {which}In Cluster:", _share(taken, total)]
    if unhealthy := sum(view.unhealthy_gpus for view in views):
        lines += [f"Unhealthy/Total GPUs {which}In Cluster:", _share(unhealthy, total)]
    return lines


def _share(part: float, total: float) -> str:
    return f"{_number(part)}/{_number(total)} ({100 * part / total if total else 0:.1f}%)"


def _number(amount: float) -> str:
    """As Go writes a number with a fraction: without one, if it is whole."""
    return f"{amount:g}"


def node_details(views: Sequence[NodeView]) -> str:
    """`arena top node --details`."""
    ordered = sorted(views, key=lambda view: _ORDER.index(view.mode))
    return tabwriter("".join(_details(view) for view in ordered))


def _details(view: NodeView) -> str:
    lines = [
        "",
        f"Name:    {view.name}",
        f"Status:  {view.status}",
        f"Role:    {view.role or _NONE}",
        f"Type:    {view.mode.type}",
        f"Address: {view.address or 'N/A'}",
        "Description:",
        _DESCRIPTIONS[view.mode].strip("\n"),
    ]
    if view.mode is not GpuMode.NONE:
        lines += [*_instances(view), "GPU Summary:"]
        lines += [f"  Total GPUs:     {_number(view.gpus)}", f"  Allocated GPUs: {_number(view.allocated_gpus)}"]
        lines += [f"  Unhealthy GPUs: {_number(view.unhealthy_gpus)}"]
    return "\n".join((*lines, "", ""))


def _instances(view: NodeView) -> list[str]:
    if not view.gpu_pods:
        return []
    heads = ["  NAMESPACE\tNAME\tSTATUS\tGPU(Requested)", "  ---------\t----\t------\t--------------"]
    rows = [f"  {each.namespace}\t{each.name}\t{each.status}\t{each.gpus}" for each in view.gpu_pods]
    return ["Instances:", *heads, *rows]


def node_document(views: Sequence[NodeView]) -> dict[str, Any]:
    """`arena top node -o json`: the nodes by mode, in the order in which Go writes the keys of a map."""
    fields = sorted(GpuMode, key=lambda mode: mode.field)
    return {mode.field: [_node(view) for view in views if view.mode is mode] for mode in fields}


def _node(view: NodeView) -> dict[str, Any]:
    common = {
        "name": view.name,
        "description": _DESCRIPTIONS[view.mode],
        "ip": view.address or "N/A",
        "status": view.status,
        "role": view.role,
        "type": view.mode.type,
    }
    if view.mode is GpuMode.NONE:
        return common
    pods = [
        {"name": each.name, "namespace": each.namespace, "status": each.status, "requestGPUs": each.gpus}
        for each in view.gpu_pods
    ]
    counts = {"totalGPUs": view.gpus, "allocatedGPUs": view.allocated_gpus, "unhealthyGPUs": view.unhealthy_gpus}
    return {"instances": pods, **common, **counts, "gpuMetrics": []}
