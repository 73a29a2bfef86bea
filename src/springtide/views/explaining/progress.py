# SPDX-License-Identifier: Apache-2.0
"""Jobs that make progress: created, queued, starting, running, being resized or restarted."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from springtide.messages import FromOperator, Text, text
from springtide.views.explaining import crashes, reading
from springtide.views.explaining.evidence import Evidence, Explanation, Fact
from springtide.views.pages.ages import instant
from springtide.views.states import CREATED, QUEUED, RESTARTING, RUNNING, SCALING_IN, SCALING_OUT, STARTING
from springtide.views.trainers import role

_MAX_WAIT: Final = "job-supervisor.kube-ai.io/max-wait-time"
STEPS: Final = 5


def created(evidence: Evidence) -> Explanation | None:
    if evidence.state != CREATED:
        return None
    sentence = text("Job {job} has been accepted, and its pods are being created.", job=evidence.name)
    return Explanation("Created", sentence, tuple(_status(evidence)), _watch(evidence))


def waits_for_launcher(evidence: Evidence) -> Text | None:
    """A job that fails unless its launcher runs soon."""
    seconds = str(evidence.annotations.get(_MAX_WAIT) or "").rstrip("s")
    since = instant(evidence.job["metadata"].get("creationTimestamp"))
    conditions = [each.get("type") for each in evidence.status.get("conditions") or ()]
    if not seconds.isdigit() or not int(seconds) or since is None or "Running" in conditions:
        return None
    if "Suspended" in conditions:
        since = instant(evidence.status.get("startTime")) or since
    until = reading.clock(since + timedelta(seconds=min(int(seconds), 10**9)), evidence.now)
    return text("The job fails unless its launcher runs by {until} (max-wait-time).", until=until)


def restarting(evidence: Evidence) -> Explanation | None:
    if evidence.state != RESTARTING:
        return None
    said = FromOperator(_explanation(evidence))
    sentence = text("Job {job} is restarting: {said}", job=evidence.name, said=said)
    facts = list(_status(evidence))
    crash = next((found for pod in evidence.pods if (found := crashes.of_ended(pod)) is not None), None)
    if crash is not None:
        facts += crashes.facts(evidence, crash)
    command = f"tide logs {evidence.name} -n {evidence.namespace} --previous"
    return Explanation("Restarting", sentence, tuple(facts), command)


def resizing(evidence: Evidence) -> Explanation | None:
    state = evidence.state
    if state == SCALING_OUT:
        step, what = _step(evidence)
        sentence = text(
            "Job {job} is scaling out, step {step} of {steps}, {what}: {said}",
            job=evidence.name,
            step=step,
            steps=STEPS,
            what=what,
            said=FromOperator(_explanation(evidence)),
        )
        return Explanation("ScalingOut", sentence, tuple(_status(evidence)), _watch(evidence))
    if state == SCALING_IN:
        said = FromOperator(_explanation(evidence))
        sentence = text("Job {job} is scaling in: {said}", job=evidence.name, said=said)
        return Explanation("ScalingIn", sentence, tuple(_status(evidence)), _watch(evidence))
    return None


def _step(evidence: Evidence) -> tuple[int, Text]:
    """The steps of `tide scale`: accepted, pods created, pods ready, in the host list, ranks joined."""
    _, _, given = str(evidence.status.get("workers") or "").partition("/")
    wanted = int(given) if given.isdigit() else 0
    workers = [pod for pod in reading.alive(evidence.pods) if role(pod) == "worker"]
    if len(workers) < wanted:
        return 2, text("workers are being created")
    ready = [pod for pod in workers if (reading.condition(pod, "Ready") or {}).get("status") == "True"]
    if len(ready) < wanted:
        return 3, text("workers are starting")
    if "in the host list" in _explanation(evidence):
        return 4, text("workers are being added to the host list")
    return 5, text("ranks are joining")


def running(evidence: Evidence) -> Explanation | None:
    if evidence.state != RUNNING:
        return None
    said = _explanation(evidence)
    sentence = text("Job {job} is running.", job=evidence.name)
    if said:
        sentence = text("Job {job} is running: {said}", job=evidence.name, said=FromOperator(said))
    facts = list(_status(evidence))
    reported = evidence.status.get("progress") or {}
    for field in ("step", "loss", "ranks"):
        if reported.get(field) not in (None, ""):
            facts.append(Fact(evidence.title, f"status.progress.{field}", reading.one_line(str(reported[field]))))
    return Explanation("Running", sentence, tuple(facts), f"tide logs {evidence.name} -n {evidence.namespace} -f")


def waiting(evidence: Evidence) -> Explanation:
    """Whatever else: what the operator says."""
    state, said = evidence.state, _explanation(evidence)
    sentence = text("Job {job} is waiting for its pods.", job=evidence.name)
    if said and state == QUEUED:
        sentence = text("Job {job} is queued: {said}", job=evidence.name, said=FromOperator(said))
    elif said and state == STARTING:
        sentence = text("Job {job} is starting: {said}", job=evidence.name, said=FromOperator(said))
    elif said:
        sentence = text("Job {job}: {said}", job=evidence.name, said=FromOperator(said))
    facts = [*_status(evidence), *_of_pods(evidence)]
    return Explanation(state.replace(" ", "") or "Waiting", sentence, tuple(facts), _watch(evidence))


def _of_pods(evidence: Evidence) -> list[Fact]:
    pods = [
        pod for pod in reading.alive(evidence.pods) if (reading.condition(pod, "Ready") or {}).get("status") != "True"
    ]
    return [Fact(f"pod/{reading.name(pod)}", "status.phase", str(pod["status"].get("phase"))) for pod in pods[:3]]


def _status(evidence: Evidence) -> list[Fact]:
    found = []
    for field in ("state", "workers", "explanation"):
        if evidence.status.get(field):
            found.append(Fact(evidence.title, f"status.{field}", reading.one_line(str(evidence.status[field]))))
    return found


def _explanation(evidence: Evidence) -> str:
    return reading.one_line(str(evidence.status.get("explanation") or ""))


def _watch(evidence: Evidence) -> str:
    return f"tide get {evidence.name} -n {evidence.namespace} -w"
