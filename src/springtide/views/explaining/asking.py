# SPDX-License-Identifier: Apache-2.0
"""What else to read about a job: decided from the job and its pods, so that a healthy job costs two requests."""

from __future__ import annotations

from springtide.views.explaining import crashes, reading, volumes
from springtide.views.explaining.control import suspension
from springtide.views.explaining.evidence import Evidence
from springtide.views.states import FAILED, FINISHED, RUNNING, SUSPENDED


def pods_with_events(evidence: Evidence) -> list[str]:
    """The uids of pods that have a node and have not started."""
    found = []
    for pod in reading.alive(evidence.pods):
        starts = [(each.get("state") or {}).get("waiting") for each in reading.statuses(pod)]
        if reading.node_of(pod) and (not starts or any(starts)):
            found.append(str(pod["metadata"].get("uid")))
    return found


def needs_nodes(evidence: Evidence) -> bool:
    """Unless all pods run and the state is a calm one: a node that does not respond has pods that are not ready."""
    if evidence.state in (*FINISHED, SUSPENDED):
        return False
    ready = [pod for pod in evidence.pods if (reading.condition(pod, "Ready") or {}).get("status") == "True"]
    return evidence.state != RUNNING or len(ready) < len(evidence.pods)


def needs_neighbours(evidence: Evidence) -> bool:
    return any("Insufficient" in held.message for held in reading.unplaced(evidence))


def claims(evidence: Evidence) -> list[str]:
    """Claims of pods that have no node, or that wait for their volumes."""
    if not any("persistentvolume" in held.message.lower() for held in reading.unplaced(evidence)):
        return []
    names = (name for held in reading.unplaced(evidence) for _, name in volumes.claims_of(held.pod))
    return list(dict.fromkeys(names))


def needs_operator(evidence: Evidence) -> bool:
    """A job without status, or one whose suspension does not agree with its state."""
    if not evidence.status.get("conditions"):
        return True
    suspended = suspension(evidence) is not None
    return evidence.state not in FINISHED and suspended != (evidence.state == SUSPENDED)


def logs(evidence: Evidence) -> list[tuple[str, str, bool]]:
    """Pod, container, and whether the log of its run before the last restart is asked for."""
    found = [(reading.name(each.pod), each.container, True) for each in crashes.crashes(evidence)]
    if evidence.state == FAILED:
        ended = (crashes.of_ended(pod) for pod in evidence.pods)
        found += [(reading.name(each.pod), each.container, False) for each in ended if each is not None]
    return found
