# SPDX-License-Identifier: Apache-2.0
"""Jobs that are over or suspended."""

from __future__ import annotations

from typing import Final

from springtide.messages import FromOperator, text
from springtide.views.explaining import control, crashes, reading
from springtide.views.explaining.evidence import Evidence, Explanation, Fact, Obj
from springtide.views.pages.ages import instant

_OUT_OF_TIME: Final = ("DeadlineExceeded", "MaxWaitTimeExceeded")
_KUEUE: Final = "kueue.x-k8s.io/queue-name"


def succeeded(evidence: Evidence) -> Explanation | None:
    found = evidence.condition("Succeeded")
    if found is None:
        return None
    at = instant(evidence.status.get("completionTime") or found.get("lastTransitionTime"))
    sentence = text("Job {job} has succeeded.", job=evidence.name)
    if at is not None:
        clock = reading.clock(at, evidence.now)
        sentence = text("Job {job} has succeeded at {at}.", job=evidence.name, at=clock)
    return Explanation("Succeeded", sentence, (_of(evidence, found),), _logs(evidence))


def failed(evidence: Evidence) -> Explanation | None:
    """Which pod failed, and how, if its pod is still there; otherwise what the operator recorded."""
    found = evidence.condition("Failed")
    if found is None:
        return None
    message = str(found.get("message") or "")
    crash = None
    if found.get("reason") not in _OUT_OF_TIME:
        ended = [crash for pod in evidence.pods if (crash := crashes.of_ended(pod)) is not None]
        crash = next((each for each in ended if reading.name(each.pod) in message), next(iter(ended), None))
    if crash is not None:
        sentence = text(
            "Job {job} has failed: container {container} of {pod} {ended}.",
            job=evidence.name,
            container=crash.container,
            pod=reading.name(crash.pod),
            ended=crashes.how(crash),
        )
        command = f"{_logs(evidence)} -i {reading.name(crash.pod)}"
        return Explanation("Failed", sentence, (_of(evidence, found), *crashes.facts(evidence, crash)), command)
    sentence = text("{said}", said=FromOperator(reading.one_line(message)))
    if not message:
        sentence = text("Job {job} has failed.", job=evidence.name)
    return Explanation(str(found.get("reason") or "Failed"), sentence, (_of(evidence, found),), _logs(evidence))


def suspended(evidence: Evidence) -> Explanation | None:
    fact = control.suspension(evidence)
    if fact is None:
        return None
    running = sum(1 for pod in evidence.pods if not reading.ended(pod))
    queue = (evidence.job["metadata"].get("labels") or {}).get(_KUEUE)
    if queue:
        sentence = text("Job {job} is suspended until queue {queue} admits it.", job=evidence.name, queue=queue)
        held_by = Fact(evidence.title, f"metadata.labels[{_KUEUE}]", queue)
        return Explanation("Suspended", sentence, (fact, held_by), f"kubectl get workloads -n {evidence.namespace}")
    sentence = text("Job {job} is suspended on request, and has no pods.", job=evidence.name)
    if running:
        sentence = text(
            "Job {job} is suspended on request; pods still terminating: {count}.", job=evidence.name, count=running
        )
    return Explanation("Suspended", sentence, (fact,), f"tide resume {evidence.name} -n {evidence.namespace}")


def _of(evidence: Evidence, found: Obj) -> Fact:
    said = reading.one_line(f"{found.get('reason')}: {found.get('message')}")
    return Fact(evidence.title, f"status.conditions[{found.get('type')}]", said)


def _logs(evidence: Evidence) -> str:
    return f"tide logs {evidence.name} -n {evidence.namespace}"
