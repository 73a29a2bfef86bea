# SPDX-License-Identifier: Apache-2.0
"""Jobs that nothing holds up: those that are over, suspended, not reconciled, or make progress."""

from __future__ import annotations

import pytest
from tests.unit.views.explaining.objects import a_job, a_pod, condition, evidence

from springtide.messages import Language, shown
from springtide.views.explaining import Evidence, Fact, Operator, explained
from springtide.views.explaining.asking import needs_neighbours, needs_nodes, needs_operator

ALIVE = Operator(True, Fact("lease/mpi-operator/mpi-operator", "spec.renewTime", "now"))
DEAD = Operator(False, Fact("lease/mpi-operator", "metadata", "no such lease"))
FAILED = "MPIJob ns/pi has failed: launcher exited with code 3: no data; see kubectl logs pi-launcher -n ns"
LATE = "MPIJob ns/pi has failed because its launcher did not run within 60 s (max-wait-time); 0 of 1 workers were ready"
JUST_NOW = {"creationTimestamp": "2026-11-17T05:59:58Z"}
WORKER = {"springtide.dev/role": "worker"}

STATES: dict[str, tuple[Evidence, str, str, str]] = {
    "it is being deleted": (
        evidence(a_job("Running", metadata={"deletionTimestamp": "2026-11-17T05:59:00Z", "finalizers": ["keep"]})),
        "Deleting",
        "Job pi is being deleted since 05:59:00 UTC, and waits for its finalizers: keep.",
        "kubectl get mpijob/pi -n ns -o yaml",
    ),
    "another controller manages it": (
        evidence(a_job("", spec={"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})),
        "ManagedElsewhere",
        "Job pi is managed by another controller, kueue.x-k8s.io/multikueue; this operator leaves it alone.",
        "kubectl describe mpijob/pi -n ns",
    ),
    "it has just been created": (
        evidence(a_job("", metadata=JUST_NOW), operator=ALIVE),
        "NotReconciled",
        "Job pi has just been created; the operator takes it up now.",
        "tide doctor --cluster",
    ),
    "no operator runs": (
        evidence(a_job(""), operator=DEAD),
        "NotReconciled",
        "Job pi is not reconciled: no operator runs in this cluster.",
        "tide doctor --cluster",
    ),
    "it is not known whether an operator runs": (
        evidence(a_job("")),
        "NotReconciled",
        "Job pi has no status: no operator has reconciled it.",
        "tide doctor --cluster",
    ),
    "an operator runs, and leaves it alone": (
        evidence(a_job(""), operator=ALIVE),
        "NotReconciled",
        "Job pi has no status, although an operator runs: it may not serve this kind or namespace.",
        "tide doctor --cluster",
    ),
    "nobody notices its suspension": (
        evidence(a_job("Running", spec={"runPolicy": {"suspend": True}}), operator=DEAD),
        "NotReconciled",
        "Job pi is not reconciled: no operator runs in this cluster.",
        "tide doctor --cluster",
    ),
    "it is suspended": (
        evidence(a_job("Suspended", spec={"runPolicy": {"suspend": True}})),
        "Suspended",
        "Job pi is suspended on request, and has no pods.",
        "tide resume pi -n ns",
    ),
    "a TrainingJob is suspended by a queue's annotation": (
        evidence(
            a_job("Suspended", kind="TrainingJob", annotations={"scheduling.x-k8s.io/suspend": "true"}),
            a_pod(),
            a_pod(),
        ),
        "Suspended",
        "Job pi is suspended on request; pods still terminating: 2.",
        "tide resume pi -n ns",
    ),
    "Kueue has not admitted it": (
        evidence(
            a_job("Suspended", spec={"runPolicy": {"suspend": True}}, labels={"kueue.x-k8s.io/queue-name": "team"})
        ),
        "Suspended",
        "Job pi is suspended until queue team admits it.",
        "kubectl get workloads -n ns",
    ),
    "it has succeeded": (
        evidence(a_job("Succeeded", condition("Succeeded"), completionTime="2026-11-17T05:30:00Z")),
        "Succeeded",
        "Job pi has succeeded at 05:30:00 UTC.",
        "tide logs pi -n ns",
    ),
    "its launcher failed, and is still there": (
        evidence(
            a_job("Failed", condition("Failed", "MPIJobFailed", FAILED)),
            a_pod("pi-worker-0", ended={"exitCode": 143}),
            a_pod("pi-launcher", ended={"exitCode": 3}),
            logs={"pi-launcher": "start\nno data\n"},
        ),
        "Failed",
        "Job pi has failed: container main of pi-launcher exited with code 3.",
        "tide logs pi -n ns -i pi-launcher",
    ),
    "it failed, and no pod is left": (
        evidence(a_job("Failed", condition("Failed", "MPIJobFailed", FAILED))),
        "MPIJobFailed",
        FAILED,
        "tide logs pi -n ns",
    ),
    "it waited too long": (
        evidence(a_job("Failed", condition("Failed", "MaxWaitTimeExceeded", LATE))),
        "MaxWaitTimeExceeded",
        LATE,
        "tide logs pi -n ns",
    ),
    "it runs": (
        evidence(a_job("Running", explanation="The job runs with 2 workers."), a_pod()),
        "Running",
        "Job pi is running: The job runs with 2 workers.",
        "tide logs pi -n ns -f",
    ),
    "another operator's job runs": (
        evidence({**a_job(), "status": {"conditions": [condition("Running")]}}, a_pod()),
        "Running",
        "Job pi is running.",
        "tide logs pi -n ns -f",
    ),
    "it waits for pods": (
        evidence(a_job("Starting", explanation="2 workers ready; the launcher is starting."), a_pod(ready=False)),
        "Starting",
        "Job pi is starting: 2 workers ready; the launcher is starting.",
        "tide get pi -n ns -w",
    ),
    "it is restarting": (
        evidence(
            a_job("Restarting", explanation="The launcher failed and is created again at 06:00:10 UTC, retry 1 of 6.")
        ),
        "Restarting",
        "Job pi is restarting: The launcher failed and is created again at 06:00:10 UTC, retry 1 of 6.",
        "tide logs pi -n ns --previous",
    ),
    "workers are added: pods are created": (
        evidence(a_job("Scaling out", workers="1/2", explanation="x"), a_pod(labels=WORKER)),
        "ScalingOut",
        "Job pi is scaling out, step 2 of 5, workers are being created: x",
        "tide get pi -n ns -w",
    ),
    "workers are added: pods start": (
        evidence(a_job("Scaling out", workers="0/1", explanation="x"), a_pod(labels=WORKER, ready=False)),
        "ScalingOut",
        "Job pi is scaling out, step 3 of 5, workers are starting: x",
        "tide get pi -n ns -w",
    ),
    "workers are added: they are not in the host list": (
        evidence(
            a_job("Scaling out", workers="1/1", explanation="0 of 1 workers are in the host list."),
            a_pod(labels=WORKER),
        ),
        "ScalingOut",
        "Job pi is scaling out, step 4 of 5, workers are being added to the host list: "
        "0 of 1 workers are in the host list.",
        "tide get pi -n ns -w",
    ),
    "workers are removed": (
        evidence(a_job("Scaling in", explanation="pi-worker-1 left the host list.")),
        "ScalingIn",
        "Job pi is scaling in: pi-worker-1 left the host list.",
        "tide get pi -n ns -w",
    ),
}


@pytest.mark.parametrize("sentence", STATES)
def test_a_state(sentence: str) -> None:
    given, cause, message, command = STATES[sentence]
    found = explained(given)
    assert (found.cause, shown(found.sentence, Language.ENGLISH), found.command) == (cause, message, command)
    assert not found.also


@pytest.mark.parametrize("sentence", [name for name in STATES if "another operator" not in name])
def test_it_is_explained_in_chinese_too(sentence: str) -> None:
    said = shown(explained(STATES[sentence][0]).sentence, Language.CHINESE)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in said)


def test_a_job_with_a_deadline_for_its_launcher_says_so() -> None:
    annotations = {"job-supervisor.kube-ai.io/max-wait-time": "7200"}
    job = a_job("Queued", kind="TrainingJob", annotations=annotations, explanation="1 of 1 workers wait for a place.")
    also = [shown(each, Language.ENGLISH) for each in explained(evidence(job)).also]
    assert also == ["The job fails unless its launcher runs by 07:00:00 UTC (max-wait-time)."]


def test_a_healthy_job_costs_no_further_requests() -> None:
    found = evidence(a_job("Running"), a_pod())
    assert not needs_nodes(found)
    assert not needs_neighbours(found)
    assert not needs_operator(found)
