# SPDX-License-Identifier: Apache-2.0
"""The steps for one node of this machine: start its agent, stop it, kill it, or none.

A Node object labelled as local requires an agent. Before the agent starts, the node is assigned an index, which
determines its range of pod addresses. Deleting the object stops agent and pods within their grace periods. A node with
an announced reclaim gets no more pods and is killed at the announced time, as a cloud reclaims a spot machine. Pure;
`nodes` executes the steps.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from springtide.kube.resources import Obj
from springtide.local.supervisor.nodes.node_specs import INDEX, RECLAIM, RECLAIM_AT

POD_NETWORK: Final = ipaddress.ip_network("10.244.0.0/16")
RANGES: Final = range(1, 255)
"""Valid indexes of nodes; the pod network's range 0 holds its gateway."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A node's running agent."""

    uid: str
    """The uid of the Node object."""
    index: int


@dataclass(frozen=True, slots=True)
class Assign:
    """Assign this index to the node."""

    index: int


@dataclass(frozen=True, slots=True)
class Start:
    agent: Agent


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the node's pods within their grace periods, then its agent."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Taint the node and report when it will be reclaimed."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The reclaim was withdrawn: remove the taint."""


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Kill agent and pods, as a machine failure would, then delete the Node."""


@dataclass(frozen=True, slots=True)
class ReportProblem:
    reason: str
    message: str


Step = Assign | Start | Stop | Announce | Withdraw | Reclaim | ReportProblem


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...] = ()
    again: float | None = None
    """Seconds after which to reconcile again even if nothing changes."""


def plan(node: Obj | None, agent: Agent | None, taken: Collection[int], now: datetime) -> Plan:
    """`agent` is the one running under the node's name; `taken` are the indexes of all other nodes and agents."""
    if node is None:
        return Plan((Stop(),) if agent else ())
    if agent is not None and agent.uid != node["metadata"]["uid"]:
        return Plan((Stop(),), again=0.0)  # deleted and recreated unobserved
    try:
        at = reclaim_time(node)
    except ValueError:
        text = node["metadata"]["annotations"][RECLAIM_AT]
        message = f"Annotation {RECLAIM_AT} is no time: {text!r}. Write it like 2026-01-31T12:00:00Z."
        return _run(node, agent, taken, (ReportProblem("InvalidReclaimTime", message),))
    if at is not None and at <= now:
        return Plan((Reclaim(),))
    if at is None:
        return _run(node, agent, taken, (Withdraw(),) if _is_tainted(node) else ())
    decided = _run(node, agent, taken, () if _is_tainted(node) else (Announce(at),))
    return Plan(decided.steps, (at - now).total_seconds())


def _run(node: Obj, agent: Agent | None, taken: Collection[int], steps: tuple[Step, ...]) -> Plan:
    """The given steps, and those to have an agent running."""
    if agent is not None:
        return Plan(steps)
    index = index_of(node)
    if index is None:
        free = next((number for number in RANGES if number not in taken), None)
        if free is None:
            message = f"All {len(RANGES)} ranges of pod addresses are in use. Remove another node first."
            return Plan((*steps, ReportProblem("CIDRNotAvailable", message)))
        return Plan((Assign(free), *steps))
    if index in taken:
        message = f"Pod addresses {pod_range(index)} belong to another node. Delete this Node and add it anew."
        return Plan((*steps, ReportProblem("CIDRNotAvailable", message)))
    return Plan((*steps, Start(Agent(node["metadata"]["uid"], index))))


def index_of(node: Obj) -> int | None:
    """The node's index, from its immutable pod CIDR or, if unset, from its annotation."""
    written = (node.get("spec") or {}).get("podCIDR")
    text = (node["metadata"].get("annotations") or {}).get(INDEX, "")
    if written:
        return next((index for index in RANGES if pod_range(index) == written), None)
    return int(text) if text.isdecimal() and int(text) in RANGES else None


def pod_range(index: int) -> str:
    return f"{POD_NETWORK.network_address + 256 * index}/24"


def reclaim_time(node: Obj) -> datetime | None:
    """When the node will be reclaimed; ValueError when the annotation is no time."""
    text = (node["metadata"].get("annotations") or {}).get(RECLAIM_AT)
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_tainted(node: Obj) -> bool:
    return any(taint["key"] == RECLAIM for taint in taints_of(node))


def taints_of(node: Obj) -> list[Obj]:
    return list((node.get("spec") or {}).get("taints") or ())


# What is written


def assignment(index: int) -> Obj:
    return {"metadata": {"annotations": {INDEX: str(index)}}, "spec": {"podCIDR": pod_range(index)}}


def with_reclaim_taint(node: Obj) -> Obj:
    return {"spec": {"taints": [*taints_of(node), {"key": RECLAIM, "effect": "NoSchedule"}]}}


def without_reclaim_taint(node: Obj) -> Obj:
    return {"spec": {"taints": [taint for taint in taints_of(node) if taint["key"] != RECLAIM]}}


def update(existing: Obj, wanted: Obj, marks: Collection[str]) -> Obj:
    """The patch from an existing node to a newly described one; empty when there is no difference.

    `marks` are labels and annotations that are removed when the description omits them. All others, and taints that the
    description does not name, are kept.
    """
    metadata: Obj = {}
    for part in ("labels", "annotations"):
        present = existing["metadata"].get(part) or {}
        described = wanted["metadata"].get(part) or {}
        changed: Obj = {name: text for name, text in described.items() if present.get(name) != text}
        changed |= {name: None for name in marks if name in present and name not in described}
        if changed:
            metadata[part] = changed
    patch: Obj = {"metadata": metadata} if metadata else {}
    taints = _merged(taints_of(existing), taints_of(wanted))
    return patch if taints == taints_of(existing) else patch | {"spec": {"taints": taints}}


def _merged(present: list[Obj], wanted: list[Obj]) -> list[Obj]:
    named = {(taint["key"], taint["effect"]): taint for taint in wanted}
    merged = [named.pop((taint["key"], taint["effect"]), taint) for taint in present]
    return [*merged, *named.values()]
