# SPDX-License-Identifier: Apache-2.0
"""A deployment's status: counts, availability, and whether its rollout progresses, is complete or has stalled.

`kubectl rollout status` reads these reasons, so they are exactly those of kube-controller-manager. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.timestamps import read, stamp
from springtide.local.controller_manager.workloads.rollout_sets import ReplicaSet, total
from springtide.local.controller_manager.workloads.rollout_terms import Terms

PROGRESSING, AVAILABLE, FAILURE = "Progressing", "Available", "ReplicaFailure"
_NEW_AVAILABLE, _TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
_PAUSED, _RESUMED = "DeploymentPaused", "DeploymentResumed"


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Obj:
    moment = stamp(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def put(present: Sequence[Obj], news: Obj) -> list[Obj]:
    """Adds or replaces a condition; one with the same status and reason is kept unchanged."""
    known = conditions.find(present, news["type"])
    if known is not None and known["status"] == news["status"]:
        if known.get("reason") == news["reason"]:
            return list(present)
        news = {**news, "lastTransitionTime": known["lastTransitionTime"]}
    return [*conditions.without(present, news["type"]), news]


# Conditions set before the status is computed


def with_pause(present: list[Obj], terms: Terms, now: datetime) -> list[Obj]:
    """A pause and a resume reset the progress deadline."""
    known = conditions.find(present, PROGRESSING)
    reason = "" if known is None else known.get("reason", "")
    if terms.progress_deadline is None or reason == _TIMED_OUT or terms.paused == (reason == _PAUSED):
        return present
    if terms.paused:
        return put(present, condition(PROGRESSING, "Unknown", _PAUSED, "Deployment is paused", now))
    return put(present, condition(PROGRESSING, "Unknown", _RESUMED, "Deployment is resumed", now))


def with_found(present: list[Obj], terms: Terms, name: str, now: datetime) -> list[Obj]:
    if terms.progress_deadline is None or conditions.find(present, PROGRESSING):
        return present
    message = f'Found new replica set "{name}"'
    return put(present, condition(PROGRESSING, "True", "FoundNewReplicaSet", message, now))


def with_created(present: list[Obj], terms: Terms, name: str, now: datetime) -> list[Obj]:
    if terms.progress_deadline is None:
        return present
    message = f'Created new replica set "{name}"'
    return put(present, condition(PROGRESSING, "True", "NewReplicaSetCreated", message, now))


def with_failed_creation(present: list[Obj], terms: Terms, message: str, now: datetime) -> list[Obj]:
    if terms.progress_deadline is None:
        return present
    return put(present, condition(PROGRESSING, "False", "ReplicaSetCreateError", message, now))


# The status itself


def status(
    deployment: Obj, sets: Sequence[ReplicaSet], new: ReplicaSet | None, present: list[Obj], now: datetime
) -> Obj:
    """All counts, zeros included; `shown` drops those."""
    terms = Terms.of(deployment)
    available = sum(known.available for known in sets)
    return {
        "observedGeneration": terms.generation,
        "replicas": sum(known.replicas for known in sets),
        "updatedReplicas": 0 if new is None else new.replicas,
        "readyReplicas": sum(known.status.get("readyReplicas", 0) for known in sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(sets) - available),
        "terminatingReplicas": _terminating(sets),
        "collisionCount": deployment.get("status", {}).get("collisionCount"),
        "conditions": put(present, _availability(terms, available, now)),
    }


def _terminating(sets: Sequence[ReplicaSet]) -> int | None:
    """None while a replica set's controller does not count them."""
    counted = [known.status.get("terminatingReplicas") for known in sets if known.status.get("observedGeneration")]
    return None if None in counted else sum(count for count in counted if count)


def _availability(terms: Terms, available: int, now: datetime) -> Obj:
    if available >= terms.replicas - terms.max_unavailable:
        message = "Deployment has minimum availability."
        return condition(AVAILABLE, "True", "MinimumReplicasAvailable", message, now)
    message = "Deployment does not have minimum availability."
    return condition(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)


def complete(terms: Terms, found: Obj) -> bool:
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    done = all(found.get(name, 0) == terms.replicas for name in counts)
    return done and bool(found.get("observedGeneration", 0) >= terms.generation)


def with_progress(
    deployment: Obj, found: Obj, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> tuple[Obj, float | None]:
    """The status with Progressing and ReplicaFailure, and when to check whether the rollout has stalled."""
    terms = Terms.of(deployment)
    present: list[Obj] = found["conditions"]
    known = conditions.find(present, PROGRESSING)
    if terms.progress_deadline is None:
        present = conditions.without(present, PROGRESSING)
    elif not _was_complete(found, known):
        present = _estimated(deployment, {**found, "conditions": present}, new, now)
    failures = [*_failures([new] if new else []), *_failures(sets)]
    present = put(present, failures[0]) if failures else conditions.without(present, FAILURE)
    found = {**found, "conditions": present}
    return found, _look_again(terms, found, now)


def _was_complete(found: Obj, known: Obj | None) -> bool:
    """Whether a finished rollout's replica set is only being resynced: there is no progress to estimate."""
    return found["replicas"] == found["updatedReplicas"] and known is not None and known.get("reason") == _NEW_AVAILABLE


def _estimated(deployment: Obj, found: Obj, new: ReplicaSet | None, now: datetime) -> list[Obj]:
    terms = Terms.of(deployment)
    present: list[Obj] = found["conditions"]
    subject = f'Deployment "{terms.name}"' if new is None else f'ReplicaSet "{new.name}"'
    known = conditions.find(present, PROGRESSING)
    if complete(terms, found):
        message = f"{subject} has successfully progressed."
        return put(present, condition(PROGRESSING, "True", _NEW_AVAILABLE, message, now))
    if _progressed(deployment.get("status", {}), found):
        news = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
        if known is not None and known["status"] == "True":
            news["lastTransitionTime"] = known["lastTransitionTime"]
        # Updated even when only its time differs: the deadline counts from the last progress.
        return [*conditions.without(present, PROGRESSING), news]
    if _timed_out(terms, known, now):
        message = f"{subject} has timed out progressing."
        return put(present, condition(PROGRESSING, "False", _TIMED_OUT, message, now))
    return present


def _progressed(old: Obj, found: Obj) -> bool:
    def outdated(counts: Obj) -> int:
        return int(counts.get("replicas", 0) - counts.get("updatedReplicas", 0))

    rising = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated(found) < outdated(old) or any(found[name] > old.get(name, 0) for name in rising)


def _timed_out(terms: Terms, known: Obj | None, now: datetime) -> bool:
    if known is None or terms.progress_deadline is None or known.get("reason") == _NEW_AVAILABLE:
        return False
    deadline = read(known["lastUpdateTime"]) + timedelta(seconds=terms.progress_deadline)
    return known.get("reason") == _TIMED_OUT or deadline < now


def _failures(sets: Sequence[ReplicaSet]) -> list[Obj]:
    return [
        {**failure, "lastUpdateTime": failure["lastTransitionTime"]}
        for known in sets
        for failure in known.status.get("conditions") or ()
        if failure["type"] == FAILURE
    ]


def _look_again(terms: Terms, found: Obj, now: datetime) -> float | None:
    known = conditions.find(found["conditions"], PROGRESSING)
    if terms.progress_deadline is None or known is None:
        return None
    if complete(terms, found) or known.get("reason") in (_TIMED_OUT, _NEW_AVAILABLE):
        return None
    deadline = read(known["lastUpdateTime"]) + timedelta(seconds=terms.progress_deadline)
    # One second more, because the times in conditions are whole seconds.
    return max(0.0, (deadline - now).total_seconds()) + 1.0


def shown(found: Obj) -> Obj:
    """Drops zero and absent fields, except counts where 0 differs from unknown."""
    return {
        name: value
        for name, value in found.items()
        if value or (name in ("terminatingReplicas", "collisionCount") and value is not None)
    }
