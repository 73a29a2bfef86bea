# SPDX-License-Identifier: Apache-2.0
"""Moves a launcher off a node that is going away, if that costs nothing.

That is so if its program writes a checkpoint on SIGTERM and has reported that it keeps any. For any other launcher an
event states what will be lost.

A launcher that is a pod is deleted. One in a batch Job is stopped by suspending that Job for a moment: a pod deleted by
another client counts as a failure of the Job.
"""

from __future__ import annotations

from dataclasses import replace

from springtide.jobs.actions import Action, Decision
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import Pod
from springtide.jobs.reporting import progress, setbacks
from springtide.jobs.snapshot import Snapshot


def noticed(snapshot: Snapshot) -> tuple[Ledger, list[Decision]]:
    """Once per node. A launcher placed on a leaving node that another launcher was moved from was placed there
    deliberately, and would be moved again and again."""
    ledger, pod = snapshot.ledger, snapshot.launcher
    known = {node: left for node, left in ledger.launcher_nodes.items() if node in snapshot.observed.leaving_nodes}
    if known != ledger.launcher_nodes:
        ledger = replace(ledger, launcher_nodes=known)
    serves = pod is not None and snapshot.launcher_runs and pod.uid == ledger.serves
    if pod is None or not serves or pod.node not in snapshot.observed.leaving_nodes or known.get(pod.node):
        return ledger, []
    moves = snapshot.shape.saves and progress.of(pod).has_checkpoint
    if not moves and pod.node in known:
        return ledger, []
    relocated = pod.uid if moves else ledger.relocated
    ledger = replace(ledger, launcher_nodes={**known, pod.node: moves}, relocated=relocated)
    return ledger, [_moved(snapshot, pod) if moves else _stays(snapshot, pod)]


def _moved(snapshot: Snapshot, pod: Pod) -> Decision:
    message = (
        f"Node {pod.node} of the launcher is being drained or removed{_when(snapshot, pod)}; the launcher is "
        "asked to write a checkpoint and to end; a new launcher continues from it on another node"
    )
    return Decision(snapshot.now, "LauncherMoved", message, warning=True)


def _stays(snapshot: Snapshot, pod: Pod) -> Decision:
    message = (
        f"Node {pod.node} of the launcher is being drained or removed{_when(snapshot, pod)}, and the run ends with it: "
    )
    message += "no checkpoint was reported" if snapshot.sizes.elastic else snapshot.sizes.rigid
    message += f", so that the launcher is not moved; {setbacks.KEEP_SOME}" if snapshot.sizes.elastic else ""
    return Decision(snapshot.now, "LauncherNodeLeaving", message, warning=True)


def _when(snapshot: Snapshot, pod: Pod) -> str:
    at = snapshot.observed.reclaims.get(pod.node)
    return f" at {at:%H:%M:%S} UTC" if at is not None else ""


def deleted(snapshot: Snapshot) -> tuple[Pod, ...]:
    pod = _leaving(snapshot)
    return snapshot.form.relocated(pod) if pod is not None else ()


def suspended(snapshot: Snapshot) -> tuple[Action, ...]:
    return snapshot.form.relocation(snapshot) if _leaving(snapshot) is not None else ()


def _leaving(snapshot: Snapshot) -> Pod | None:
    pod, relocated = snapshot.launcher, snapshot.ledger.relocated
    return pod if pod is not None and pod.alive and relocated and pod.uid == relocated else None
