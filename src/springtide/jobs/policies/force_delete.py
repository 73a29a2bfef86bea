# SPDX-License-Identifier: Apache-2.0
"""`springtide.dev/force-delete: never`: pods on nodes that do not respond are not deleted by force.

A replica that keeps its name can be created again only once the pod of that name is deleted, and a node that does not
respond cannot confirm that it has stopped the pod. Kubernetes evicts such a pod after its toleration of unreachable
nodes is over, five minutes by default; then it is deleted by force. Where the node is merely cut off, the program may
still run there and write the same checkpoint: the annotation leaves the decision to the user.
"""

from __future__ import annotations

from typing import Final

from springtide.jobs.endings import causes
from springtide.jobs.observed import Pod
from springtide.jobs.snapshot import Snapshot

ANNOTATION: Final = "springtide.dev/force-delete"
NEVER: Final = "never"


def forbidden(snapshot: Snapshot) -> bool:
    return snapshot.job.metadata.annotations.get(ANNOTATION) == NEVER


def given_up(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether a pod on a node that does not respond counts as dead."""
    return causes.lost(pod) and pod.terminating and not forbidden(snapshot)


def left_alone(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether a pod on a node that does not respond is not deleted now, whatever it would be deleted for."""
    return causes.lost(pod) and not given_up(snapshot, pod)


def survives_suspension(snapshot: Snapshot, pod: Pod) -> bool:
    """Of a job that is suspended such pods are deleted by force at once, unless the user forbids it."""
    return bool(snapshot.shape.fixed) and forbidden(snapshot) and causes.lost(pod)


def explained(snapshot: Snapshot, pod: Pod) -> str:
    """What becomes of a pod on a node that does not respond."""
    where = f"{pod.name} is on node {pod.node}, which does not respond"
    if forbidden(snapshot):
        way_out = f"kubectl delete pod {pod.name} -n {snapshot.job.metadata.namespace} --force"
        return f"{where}; it is not deleted by force ({ANNOTATION}), so once the node is surely down: {way_out}"
    return f"{where}; it is created again elsewhere once Kubernetes has evicted it, after five minutes by default"
