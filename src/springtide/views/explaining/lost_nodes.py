# SPDX-License-Identifier: Apache-2.0
"""Nodes that do not respond or no longer exist, and the pods that were on them."""

from __future__ import annotations

import re
from typing import Final

from springtide.messages import text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Cause, Evidence, Fact, Obj
from springtide.views.pages.ages import instant

_LOST: Final = re.compile(r"^(?P<pod>\S+|The launcher) was (?:lost|stopped) with node (?P<node>\S+?)[;.,]?(?:\s|$)")
_REPLACED: Final = (
    "WorkerReplaced",
    "LauncherRestarted",
    "ReplicaRestarted",
    "ReplicaReplaced",
    "JobRestarted",
    "TrainingJobWorkerFailed",
)


def silent_node(evidence: Evidence) -> Cause | None:
    """A pod of the job is on a node that does not respond, or that was deleted."""
    if evidence.nodes is None:
        return None
    nodes = {reading.name(node): node for node in evidence.nodes}
    for pod in evidence.pods:
        called = reading.node_of(pod)
        if not called or reading.ended(pod):
            continue
        if called not in nodes:
            why = text("node {node}, on which {pod} ran, no longer exists", node=called, pod=reading.name(pod))
            fact = Fact(f"pod/{reading.name(pod)}", "spec.nodeName", called)
            return Cause("NodeLost", why, (fact,), _command(evidence))
        ready = reading.condition(nodes[called], "Ready")
        if ready is not None and not _responds(nodes[called]):
            return _silent(evidence, pod, called, ready)
    return None


def _silent(evidence: Evidence, pod: Obj, called: str, ready: Obj) -> Cause:
    since = instant(ready.get("lastTransitionTime"))
    said = reading.one_line(f"{ready.get('status')}: {ready.get('reason')}: {ready.get('message')}")
    facts = [Fact(f"node/{called}", "status.conditions[Ready]", said)]
    facts.append(Fact(f"pod/{reading.name(pod)}", "spec.nodeName", called))
    why = text("node {node}, on which {pod} runs, does not respond", node=called, pod=reading.name(pod))
    if since is not None:
        why = text(
            "node {node}, on which {pod} runs, has not responded since {since}",
            node=called,
            pod=reading.name(pod),
            since=reading.clock(since, evidence.now),
        )
    command = f"kubectl describe node {called}" if not evidence.embedded else "tide node list"
    return Cause("NodeLost", why, tuple(facts), command)


def lost_before(evidence: Evidence) -> Cause | None:
    """A pod was lost with its node, and the one in its place finds no node."""
    held = reading.unplaced(evidence)
    if not held or evidence.nodes is None:
        return None
    known = {reading.name(node) for node in evidence.nodes if _responds(node)}
    for event in reading.newest(evidence.events):
        found = _LOST.match(str(event.get("message") or ""))
        if event.get("reason") not in _REPLACED or found is None or found["node"] in known:
            continue
        why = text(
            "{lost} was lost with node {node}, and no other node takes {pod}",
            lost=found["pod"],
            node=found["node"],
            pod=reading.name(held[0].pod),
        )
        return Cause("NodeLost", why, (reading.of_event(event), held[0].fact), _command(evidence))
    return None


def _responds(node: Obj) -> bool:
    ready = reading.condition(node, "Ready")
    return ready is None or ready.get("status") == "True"


def _command(evidence: Evidence) -> str:
    return "tide node list" if evidence.embedded else "kubectl get nodes"
