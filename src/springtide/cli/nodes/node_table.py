# SPDX-License-Identifier: Apache-2.0
"""The table of `tide node list`: nodes and the pods on them. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from springtide.api import quantity
from springtide.api.mirror_pods import is_mirror
from springtide.api.pod_amounts import pod_requests
from springtide.api.quantity import Quantity
from springtide.cli.durations import shown
from springtide.local.supervisor.nodes.node_plans import reclaim_time
from springtide.local.supervisor.nodes.node_specs import CAPACITY, SPOT

Obj = dict[str, Any]
HEADER = ("NAME", "STATE", "SPOT", "CAPACITY", "USED", "PODS")
_UNITS = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_HIDDEN = ("pods", "ephemeral-storage")


def rows(nodes: Iterable[Obj], pods: Iterable[Obj], now: datetime) -> list[Sequence[str]]:
    by_node: dict[str, list[Obj]] = defaultdict(list)
    for pod in pods:
        ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if not ended and not is_mirror(pod):
            by_node[(pod.get("spec") or {}).get("nodeName", "")].append(pod)
    ordered = sorted(nodes, key=lambda node: str(node["metadata"]["name"]))
    return [_row(node, by_node[node["metadata"]["name"]], now) for node in ordered]


def _row(node: Obj, pods: Sequence[Obj], now: datetime) -> Sequence[str]:
    capacity = capacity_of(node)
    used: dict[str, Quantity] = {}
    for pod in pods:
        for name, amount in pod_requests(pod["spec"]).items():
            used[name] = used.get(name, quantity.ZERO) + amount
    room = f"/{capacity['pods'].value}" if "pods" in capacity else ""
    spot = "spot" if (node["metadata"].get("labels") or {}).get(SPOT) == "true" else "-"
    return (
        node["metadata"]["name"],
        state_of(node, now),
        spot,
        amounts(capacity),
        amounts({name: amount for name, amount in used.items() if amount}),
        f"{len(pods)}{room}",
    )


def state_of(node: Obj, now: datetime) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((condition["status"] for condition in conditions if condition["type"] == "Ready"), None)
    words = ["Starting" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("cordoned")
    try:
        at = reclaim_time(node)
    except ValueError:
        at = None
    if at is not None:
        words.append(f"reclaimed in {shown((at - now).total_seconds())}")
    return ", ".join(words)


def capacity_of(node: Obj) -> dict[str, Quantity]:
    """The node's allocatable resources; before the node has reported them, its requested capacity."""
    stated = (node.get("status") or {}).get("allocatable")
    if not stated:
        asked = (node["metadata"].get("annotations") or {}).get(CAPACITY)
        stated = json.loads(asked) if asked else {}
    return {name: quantity.parse(str(amount)) for name, amount in stated.items()}


def amounts(found: Mapping[str, Quantity]) -> str:
    """`cpu 8, memory 31.3Gi, nvidia.com/gpu 4`; zero amounts are omitted."""
    first = {name: found[name] for name in ("cpu", "memory") if name in found}
    shown_ones = [
        f"{name} {_amount(name, amount)}"
        for name, amount in (first | dict(sorted(found.items()))).items()
        if name not in _HIDDEN and amount
    ]
    return ", ".join(shown_ones) or "-"


def _amount(name: str, amount: Quantity) -> str:
    if name == "cpu":
        return f"{amount.milli / 1000:g}"
    if name != "memory" and not name.startswith("hugepages-"):
        return str(amount.value)
    suffix, unit = next((each for each in _UNITS if amount.value >= each[1]), ("", 1))
    return f"{amount.value / unit:.1f}".removesuffix(".0") + suffix


def table(lines: Sequence[Sequence[str]]) -> str:
    """Aligned columns, two spaces apart."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
