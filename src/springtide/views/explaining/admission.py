# SPDX-License-Identifier: Apache-2.0
"""Pods that the API server does not create: a quota, an admission webhook, an invalid template."""

from __future__ import annotations

import re
from typing import Final

from springtide.messages import text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Cause, Evidence, Fact

_EXCEEDED: Final = re.compile(
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<asked>.*?), used: (?P<used>.*?), limited: (?P<limit>.*?)"
    r"(?=$|;|\.\s|\n)"
)
_MUST: Final = re.compile(r"failed quota: (?P<quota>[^:]+): must specify (?P<what>[^;]+)")


def quota(evidence: Evidence) -> Cause | None:
    fact = _refusal(evidence, "QuotaExceeded", "quota")
    if fact is None:
        return None
    said = str(fact.said)
    if found := _MUST.search(said):
        why = text(
            "quota {quota} of namespace {namespace} demands that pods specify {what}",
            quota=found["quota"].strip(),
            namespace=evidence.namespace,
            what=found["what"].strip(),
        )
    elif found := _EXCEEDED.search(said):
        why = text(
            "quota {quota} of namespace {namespace} allows {limit}; {used} is in use, and a pod needs {asked} more",
            quota=found["quota"].strip(),
            namespace=evidence.namespace,
            limit=found["limit"],
            used=found["used"],
            asked=found["asked"],
        )
    else:
        why = text("a quota of namespace {namespace} is used up", namespace=evidence.namespace)
    name = f" {found['quota'].strip()}" if found else ""
    return Cause("Quota", why, (fact,), f"kubectl describe quota{name} -n {evidence.namespace}")


def refused(evidence: Evidence) -> Cause | None:
    fact = _refusal(evidence, "FailedCreate", "")
    if fact is None:
        return None
    why = text("the API server rejects a pod: {said}", said=reading.clause(str(fact.said)))
    return Cause("FailedCreate", why, (fact,), f"kubectl describe {evidence.title} -n {evidence.namespace}")


def name_taken(evidence: Evidence) -> Cause | None:
    """An object of another owner has a name that the job needs."""
    found = evidence.condition("NameTaken")
    if found is None:
        return None
    said = reading.one_line(str(found.get("message") or ""))
    fact = Fact(evidence.title, "status.conditions[NameTaken]", said)
    if found.get("reason") == "EarlierJobRemains":
        why = text("objects of an earlier job of this name still exist, and the job starts when they are gone")
        return Cause("EarlierJobRemains", why, (fact,), f"tide get {evidence.name} -n {evidence.namespace} -w")
    why = text("an object that it needs exists already and belongs to another owner")
    return Cause("NameTaken", why, (fact,), f"kubectl describe {evidence.title} -n {evidence.namespace}")


def invalid(evidence: Evidence) -> Cause | None:
    found = evidence.condition("Invalid")
    if found is None:
        return None
    said = reading.one_line(str(found.get("message") or ""))
    why = text("it is not valid: {said}", said=reading.clause(said))
    fact = Fact(evidence.title, "status.conditions[Invalid]", said)
    return Cause("Invalid", why, (fact,), f"kubectl edit {evidence.title} -n {evidence.namespace}")


def _refusal(evidence: Evidence, reason: str, word: str) -> Fact | None:
    """The operator's condition, or for a launcher in a batch Job the event of that Job."""
    found = evidence.condition("Waiting")
    if found is not None and found.get("reason") == reason:
        said = reading.one_line(str(found.get("message") or ""))
        return Fact(evidence.title, "status.conditions[Waiting]", said)
    if evidence.status.get("conditions") and evidence.status.get("state"):
        return None  # the operator knows of none
    for event in reading.newest(evidence.events):
        said = str(event.get("message") or "")
        if event.get("reason") in ("FailedCreate", "FailedCreatePod") and word in said and "exceeded" in said + word:
            return reading.of_event(event)
    return None
