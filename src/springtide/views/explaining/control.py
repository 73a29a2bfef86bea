# SPDX-License-Identifier: Apache-2.0
"""Who reconciles the job: another controller, this operator, or nobody; and a deletion that is not done yet."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from springtide.messages import text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Evidence, Explanation, Fact
from springtide.views.pages.ages import instant
from springtide.views.states import FINISHED, SUSPENDED
from springtide.views.trainers import TRAINING_JOBS

_OURS: Final = ("kubeflow.org/mpi-operator", "kubeflow.org/training-operator")
_ANNOTATIONS: Final = ("job-supervisor.kube-ai.io/job-suspended", "scheduling.x-k8s.io/suspend")
"""Either suspends a TrainingJob; queues write the second."""
_PATIENCE: Final = timedelta(seconds=5)
"""An operator that runs writes a status sooner."""


def deleted(evidence: Evidence) -> Explanation | None:
    since = instant(evidence.job["metadata"].get("deletionTimestamp"))
    if since is None:
        return None
    facts = [Fact(evidence.title, "metadata.deletionTimestamp", str(evidence.job["metadata"]["deletionTimestamp"]))]
    if finalizers := evidence.job["metadata"].get("finalizers"):
        facts.append(Fact(evidence.title, "metadata.finalizers", ", ".join(finalizers)))
    facts += [Fact(f"pod/{reading.name(pod)}", "status.phase", "terminating") for pod in evidence.pods[:3]]
    at = reading.clock(since, evidence.now)
    sentence = text("Job {job} is being deleted since {at}; its pods are terminating.", job=evidence.name, at=at)
    if finalizers:
        sentence = text(
            "Job {job} is being deleted since {at}, and waits for its finalizers: {finalizers}.",
            job=evidence.name,
            at=at,
            finalizers=", ".join(finalizers),
        )
    command = f"kubectl get {evidence.title} -n {evidence.namespace} -o yaml"
    return Explanation("Deleting", sentence, tuple(facts), command)


def managed_elsewhere(evidence: Evidence) -> Explanation | None:
    manager = (evidence.spec.get("runPolicy") or {}).get("managedBy")
    if not manager or manager in _OURS:
        return None
    sentence = text(
        "Job {job} is managed by another controller, {manager}; this operator leaves it alone.",
        job=evidence.name,
        manager=reading.one_line(str(manager)),
    )
    fact = Fact(evidence.title, "spec.runPolicy.managedBy", reading.one_line(str(manager)))
    command = f"kubectl describe {evidence.title} -n {evidence.namespace}"
    return Explanation("ManagedElsewhere", sentence, (fact,), command)


def suspension(evidence: Evidence) -> Fact | None:
    """The field by which the job is suspended."""
    policy = evidence.spec.get("runPolicy") or {}
    if policy.get("suspend"):
        return Fact(evidence.title, "spec.runPolicy.suspend", "true")
    for name in _ANNOTATIONS if evidence.kind == TRAINING_JOBS.kind else ():
        if evidence.annotations.get(name) == "true":
            return Fact(evidence.title, f"metadata.annotations[{name}]", "true")
    return None


def not_reconciled(evidence: Evidence) -> Explanation | None:
    """A job that no operator has taken note of, or whose suspension or resumption it has not."""
    operator, state, suspended = evidence.operator, evidence.state, suspension(evidence)
    unseen = not evidence.status.get("conditions") and not evidence.status.get("state")
    ignored = not unseen and state not in FINISHED and (suspended is not None) != (state == SUSPENDED)
    if not (unseen or (ignored and operator is not None and not operator.alive)):
        return None
    created = instant(evidence.job["metadata"].get("creationTimestamp"))
    age = evidence.now - created if created is not None else _PATIENCE
    facts = [Fact(evidence.title, "status", text("empty"))] if unseen else []
    if ignored:
        facts = [suspended] if suspended is not None else []
        facts.append(Fact(evidence.title, "status.state", state))
    if operator is not None:
        facts.append(operator.fact)
    if operator is not None and operator.alive:
        sentence = text("Job {job} has just been created; the operator takes it up now.", job=evidence.name)
        if age >= _PATIENCE:
            sentence = text(
                "Job {job} has no status, although an operator runs: it may not serve this kind or namespace.",
                job=evidence.name,
            )
        return Explanation("NotReconciled", sentence, tuple(facts), "tide doctor --cluster")
    sentence = text("Job {job} is not reconciled: no operator runs in this cluster.", job=evidence.name)
    if operator is None:
        sentence = text("Job {job} has no status: no operator has reconciled it.", job=evidence.name)
    return Explanation("NotReconciled", sentence, tuple(facts), "tide doctor --cluster")
