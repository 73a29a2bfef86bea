# SPDX-License-Identifier: Apache-2.0
"""What happens to a TrainingJob, row by row as et-operator has it: phases and steps, conditions, faults.

Where et-operator is known to be wrong the row says what happens here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from tests.unit.api.builders import a_trainingjob
from tests.unit.jobs.builders import ELASTIC, reasons, running
from tests.unit.jobs.simulated import NODES, START, Cluster

from springtide.api.defaults import trainingjob
from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.api.kinds.status import ReplicaStatus
from springtide.api.kinds.trainingjob import (
    JOB_STATUS_ANNOTATION,
    MAX_WAIT_TIME_ANNOTATION,
    QUEUED_ANNOTATION,
    START_SIZE_ANNOTATION,
    SUSPENDED_ANNOTATION,
    TrainingJobStatus,
)
from springtide.jobs.kinds.elastic_training.adapter import ELASTIC_TRAINING_KIND
from springtide.jobs.observed import Exit

STEPS: Final = ["Created", "WorkersCreated", "WorkersReady", "LauncherCreated", "Running"]


def submitted(
    workers: int = 3,
    annotations: dict[str, str] | None = None,
    worker: dict[str, Any] | None = None,
    launcher: dict[str, Any] | None = None,
    **spec: Any,
) -> Cluster:
    """As users submit it: with the defaults of the kind."""
    raw = a_trainingjob(name="train", workers=workers, command=ELASTIC, worker=worker, launcher=launcher, **spec)
    raw["metadata"] |= {"annotations": annotations or {}, "creationTimestamp": START.isoformat()}
    return Cluster(
        raw,
        kind=ELASTIC_TRAINING_KIND,
        read=trainingjob.defaulted,
        specs="etReplicaSpecs",
        workers_key="worker",
        over_ssh=True,
        status=TrainingJobStatus(),
    )


def status(cluster: Cluster) -> TrainingJobStatus:
    assert isinstance(cluster.status, TrainingJobStatus)
    return cluster.status


def true(cluster: Cluster) -> list[str]:
    """The types of the conditions that hold, in their order."""
    return [each.type for each in cluster.status.conditions if each.status == "True"]


def annotate(cluster: Cluster, name: str, value: str) -> None:
    cluster.raw["metadata"]["annotations"][name] = value


def end(cluster: Cluster, name: str, phase: str, code: int, reason: str = "") -> None:
    cluster.change(name, phase=phase, ready=False, reason=reason, exit=Exit(code, "Error"))


# Steps and phases of a start (A3).


def test_a_start_takes_one_step_after_the_other() -> None:
    cluster = submitted()
    assert status(cluster).phase == ""
    cluster.reconcile()
    assert (status(cluster).phase, true(cluster)) == ("Created", STEPS[:2])
    assert status(cluster).target_workers == ("train-worker-0", "train-worker-1", "train-worker-2")
    assert status(cluster).current_workers == ()
    assert status(cluster).replica_statuses == {LAUNCHER: ReplicaStatus(), WORKER: ReplicaStatus()}
    assert status(cluster).restart_count == 0
    assert status(cluster).start_time is not None
    cluster.ready("train-worker-0", "train-worker-2")
    cluster.reconcile()
    assert (status(cluster).phase, true(cluster)) == ("Created", STEPS[:2])
    assert status(cluster).current_workers == ("train-worker-0", "train-worker-2")
    assert not cluster.of(LAUNCHER)
    cluster.ready("train-worker-1")
    cluster.reconcile()
    assert (status(cluster).phase, true(cluster)) == ("Created", STEPS[:4])
    cluster.reconcile()
    cluster.ready("train-launcher")
    cluster.reconcile()
    assert (status(cluster).phase, true(cluster)) == ("Running", STEPS)
    assert status(cluster).replica_statuses == {LAUNCHER: ReplicaStatus(active=1), WORKER: ReplicaStatus(active=3)}


REASONS: Final = {
    "Created": "TrainingJobCreated",
    "WorkersCreated": "TrainingJobWorkersCreated",
    "WorkersReady": "TrainingJobWorkersReady",
    "LauncherCreated": "TrainingJobLauncherCreated",
    "Running": "TrainingJobRunning",
}


def test_the_reasons_of_the_steps() -> None:
    cluster = running(submitted())
    assert {each.type: each.reason for each in cluster.status.conditions} == REASONS


@pytest.mark.parametrize("until", range(24))
def test_the_steps_keep_their_order_whenever_the_operator_is_killed(until: int) -> None:
    cluster = submitted()
    for _ in range(6):
        cluster.reconcile(until)
        cluster.tick(1)
    cluster.settle()
    assert true(cluster) == STEPS


def test_the_steps_keep_their_order_when_they_are_first_seen_together() -> None:
    cluster = submitted()
    for _ in range(6):
        cluster.act(tuple(each for each in cluster.plan().actions if type(each).__name__ != "StatusPatch"))
        cluster.tick(1)
    cluster.settle()
    assert true(cluster) == STEPS


def test_a_launcher_runs_though_not_all_workers_do() -> None:
    cluster = submitted()
    cluster.settle()
    end(cluster, "train-worker-1", "Failed", 1)
    cluster.settle()
    assert (status(cluster).phase, true(cluster)[-1]) == ("Running", "Running")


Outcome = tuple[str, str, str]
LAUNCHER_ENDS: Final[dict[str, tuple[tuple[str, int, str], Outcome]]] = {
    "succeeded": (("Succeeded", 0, ""), ("Succeeded", "Succeeded", "TrainingJobSucceeded")),
    "failed": (("Failed", 1, ""), ("Failed", "Failed", "TrainingJobFailed")),
    "failed for a reason": (
        ("Failed", 1, "UnexpectedAdmissionError"),
        ("Failed", "Failed", "UnexpectedAdmissionError"),
    ),
    "evicted": (("Failed", 137, "Evicted"), ("Failed", "Failed", "TrainingJobEvicted")),
}


@pytest.mark.parametrize("ending", LAUNCHER_ENDS)
def test_the_launcher_ends_the_job(ending: str) -> None:
    cluster = running(submitted())
    (phase, code, reason), (told, type_, why) = LAUNCHER_ENDS[ending]
    end(cluster, "train-launcher", phase, code, reason)
    cluster.settle()
    last = cluster.status.conditions[-1]
    assert (status(cluster).phase, last.type, last.reason) == (told, type_, why)
    assert cluster.conditions["Running"] == "False"
    assert cluster.status.completion_time is not None, "et-operator has none for an evicted launcher"
    assert (last.reason, "Normal" if phase == "Succeeded" else "Warning") in [
        (e.reason, e.type) for e in cluster.events
    ]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_workers_never_fail_the_job(phase: str) -> None:
    cluster = running(submitted())
    for name in cluster.workers():
        end(cluster, name, phase, 1)
    cluster.settle()
    assert status(cluster).phase == "Running"


@pytest.mark.parametrize(
    ("policy", "workers"), [("None", 3), ("Running", 0), ("All", 0), (None, 0)], ids=["None", "Running", "All", "unset"]
)
@pytest.mark.parametrize("succeeds", [True, False], ids=["success", "failure"])
def test_clean_up_deletes_workers_and_services_but_not_the_launcher(
    policy: str | None, workers: int, succeeds: bool
) -> None:
    cluster = running(submitted(cleanPodPolicy=policy))
    end(cluster, "train-worker-0", "Failed", 1)
    cluster.settle()
    end(cluster, "train-launcher", *(("Succeeded", 0) if succeeds else ("Failed", 1)))
    cluster.settle()
    cluster.settle()
    assert len(cluster.of(LAUNCHER)) == 1
    assert len(cluster.of(WORKER)) == workers
    assert sum(key.kind == "Service" for key in cluster.objects) == workers
    assert len(status(cluster).current_workers) == max(workers - 1, 0)
    assert status(cluster).phase == ("Succeeded" if succeeds else "Failed")


# Starting the whole job again (A3).


def test_a_failed_job_is_started_again_with_its_steps_taken_anew() -> None:
    cluster = running(submitted(restartPolicy="OnFailure", backoffLimit=2))
    for times in (1, 2):
        end(cluster, "train-launcher", "Failed", 1)
        cluster.reconcile()
        assert (status(cluster).phase, status(cluster).restart_count) == ("Created", times)
        assert not {*STEPS[2:]} & {*true(cluster)}
        assert status(cluster).current_workers == ()
        cluster.settle()
        assert (status(cluster).phase, true(cluster)) == ("Running", STEPS)
        fresh = tuple(f"train-worker-{3 * times + each}" for each in range(3))
        assert status(cluster).target_workers == status(cluster).current_workers == fresh
        assert [f"{name}" for name in cluster.listed()] == list(fresh), "et-operator keeps the old list"
    end(cluster, "train-launcher", "Failed", 1)
    cluster.settle()
    assert (status(cluster).phase, status(cluster).restart_count) == ("Failed", 2)
    assert cluster.status.completion_time is not None


@pytest.mark.parametrize(("policy", "limit"), [(None, None), ("Never", 6), ("OnFailure", 0)])
def test_a_job_that_may_not_be_started_again_fails(policy: str | None, limit: int | None) -> None:
    cluster = running(submitted(restartPolicy=policy, backoffLimit=limit))
    end(cluster, "train-launcher", "Failed", 1)
    cluster.settle()
    assert (status(cluster).phase, status(cluster).restart_count) == ("Failed", 0)


def test_a_job_is_started_again_six_times_by_default() -> None:
    cluster = running(submitted(restartPolicy="OnFailure"))
    for _ in range(6):
        end(cluster, "train-launcher", "Failed", 1)
        cluster.settle(400)
        assert status(cluster).phase == "Running"
    end(cluster, "train-launcher", "Failed", 1)
    cluster.settle(400)
    assert (status(cluster).phase, status(cluster).restart_count) == ("Failed", 6)


# Suspending and resuming (A3).


@pytest.mark.parametrize("name", [SUSPENDED_ANNOTATION, QUEUED_ANNOTATION])
def test_a_job_is_suspended_and_resumed_by_annotation(name: str) -> None:
    cluster = running(submitted())
    annotate(cluster, name, "true")
    cluster.settle()
    cluster.settle()
    assert (status(cluster).phase, true(cluster)) == ("Suspended", ["Created", "Suspended"])
    assert not cluster.pods
    assert not [key for key in cluster.objects if key.kind == "Service"]
    assert status(cluster).current_workers == status(cluster).target_workers == ()
    annotate(cluster, name, "false")
    cluster.reconcile()
    assert (status(cluster).phase, cluster.conditions["Suspended"]) == ("Created", "False")
    cluster.settle()
    assert (status(cluster).phase, true(cluster)) == ("Running", STEPS)
    assert sum(key.kind == "Service" for key in cluster.objects) == 3


def test_a_job_that_is_submitted_suspended_has_no_pods_until_it_is_resumed() -> None:
    cluster = submitted(annotations={SUSPENDED_ANNOTATION: "true"})
    cluster.settle()
    assert (status(cluster).phase, true(cluster)) == ("Suspended", ["Created", "Suspended"])
    assert not cluster.pods
    assert cluster.status.start_time is None
    del cluster.raw["metadata"]["annotations"][SUSPENDED_ANNOTATION]
    cluster.settle()
    assert (status(cluster).phase, true(cluster)) == ("Running", STEPS)


# The order of conditions (A5).


def test_a_condition_that_is_set_anew_moves_to_the_end() -> None:
    cluster = running(submitted())
    for _ in range(2):
        annotate(cluster, SUSPENDED_ANNOTATION, "true")
        cluster.settle()
        assert [each.type for each in cluster.status.conditions] == ["Created", "Suspended", "Running"]
        annotate(cluster, SUSPENDED_ANNOTATION, "false")
        cluster.settle()
        assert [each.type for each in cluster.status.conditions] == ["Created", "Suspended", *STEPS[1:]]


def test_times_survive_while_a_condition_holds_and_nothing_is_written_twice() -> None:
    cluster = running(submitted())
    before = cluster.status.conditions
    end(cluster, "train-worker-0", "Failed", 1)
    cluster.settle()
    assert cluster.status.conditions == before
    assert cluster.plan().actions == ()


def test_nothing_is_written_once_a_job_has_failed() -> None:
    cluster = running(submitted())
    end(cluster, "train-launcher", "Failed", 1)
    cluster.settle()
    before = cluster.status.conditions
    cluster.vanish("train-launcher")
    cluster.settle()
    assert cluster.status.conditions == before
    assert before[-1].type == "Failed"


# Faults (A6).

CODES: Final = {
    **{f"failed with {code}": ("Failed", code) for code in (1, 128, 129, 137, 254, 255)},
    "succeeded": ("Succeeded", 0),
}
FAILURES: Final = {name for name in CODES if name.startswith("failed")}
REPLACED: Final[dict[str | None, set[str]]] = {
    None: set(),
    "Never": set(),
    "OnFailure": FAILURES,
    "ExitCode": {"failed with 129", "failed with 137", "failed with 254"},
    "Always": {*CODES, "missing"},
}


@pytest.mark.parametrize("policy", REPLACED)
@pytest.mark.parametrize("fault", [*CODES, "missing"])
def test_a_worker_is_replaced_under_a_fresh_index_as_its_policy_says(policy: str | None, fault: str) -> None:
    cluster = running(submitted(worker={"restartPolicy": policy} if policy else None))
    if fault == "missing":
        cluster.vanish("train-worker-1")
    else:
        phase, code = CODES[fault]
        end(cluster, "train-worker-1", phase, code)
    cluster.reconcile()
    assert cluster.listed() == ["train-worker-0", "train-worker-2"], "the list changes at once"
    cluster.settle()
    again = fault in REPLACED[policy]
    others = ("train-worker-0", "train-worker-2", *(("train-worker-3",) if again else ()))
    assert status(cluster).current_workers == others
    assert cluster.listed() == list(others)
    kept = ("train-worker-0", "train-worker-1", "train-worker-2")
    assert status(cluster).target_workers == (others if again else kept)
    assert reasons(cluster) == ["TrainingJobWorkerFailed", *(["TrainingJobWorkerCreated"] if again else [])]
    assert status(cluster).phase == "Running"


@pytest.mark.parametrize("policy", REPLACED)
def test_an_evicted_worker_is_always_replaced(policy: str | None) -> None:
    cluster = running(submitted(worker={"restartPolicy": policy} if policy else None))
    end(cluster, "train-worker-1", "Failed", 137, "Evicted")
    cluster.settle()
    assert status(cluster).current_workers == ("train-worker-0", "train-worker-2", "train-worker-3")


@pytest.mark.parametrize("policy", [None, "OnFailure", "Always", "ExitCode"])
def test_a_launcher_that_is_missing_is_created_again(policy: str | None) -> None:
    """et-operator waits for ever without a policy, and with OnFailure."""
    cluster = running(submitted(launcher={"restartPolicy": policy} if policy else None))
    cluster.vanish("train-launcher")
    cluster.reconcile()
    assert status(cluster).phase == "Created"
    cluster.settle()
    assert (status(cluster).phase, true(cluster)) == ("Running", STEPS)
    assert status(cluster).restart_count == 0


def test_a_launcher_that_is_missing_fails_a_job_that_does_not_create_it_again() -> None:
    cluster = running(submitted(launcher={"restartPolicy": "Never"}))
    cluster.vanish("train-launcher")
    cluster.settle()
    last = cluster.status.conditions[-1]
    assert (status(cluster).phase, last.reason) == ("Failed", "TrainingJobFailed")
    assert "was deleted and is not created again (launcher.restartPolicy Never)" in last.message
    assert not cluster.of(WORKER)


# Annotations of the job.


def crowd(cluster: Cluster) -> None:
    cluster.leaving = frozenset(NODES)


def wait(cluster: Cluster, seconds: int) -> None:
    cluster.now += timedelta(seconds=seconds)
    for _ in range(4):
        cluster.reconcile()


def test_a_job_that_waits_too_long_fails_as_arena_expects_it() -> None:
    cluster = submitted(annotations={MAX_WAIT_TIME_ANNOTATION: "600"})
    crowd(cluster)
    wait(cluster, 0)
    wait(cluster, 600)
    last = cluster.status.conditions[-1]
    assert (status(cluster).phase, last.type, last.reason) == ("Failed", "Failed", "MaxWaitTimeExceeded")
    assert cluster.raw["metadata"]["annotations"][JOB_STATUS_ANNOTATION] == "timeout"
    assert "(job-supervisor.kube-ai.io/max-wait-time)" in last.message
    cluster.settle()
    assert not cluster.pods


def test_a_job_may_start_with_its_minimum() -> None:
    worker = {"minReplicas": 2, "maxReplicas": 4}
    cluster = submitted(annotations={START_SIZE_ANNOTATION: "min"}, worker=worker)
    cluster.reconcile()
    cluster.ready("train-worker-0", "train-worker-1")
    wait(cluster, 0)
    assert not cluster.of(LAUNCHER)
    wait(cluster, 60)
    assert cluster.of(LAUNCHER)
    assert (status(cluster).phase, true(cluster)) == ("Created", STEPS[:4])
    cluster.ready("train-launcher")
    cluster.reconcile()
    assert (status(cluster).phase, cluster.status.workers) == ("Running", "2/3")
    cluster.settle()
    assert cluster.listed() == ["train-worker-0", "train-worker-1", "train-worker-2"]


@pytest.mark.parametrize("step", [lambda cluster: None, crowd], ids=["free", "crowded"])
def test_without_the_annotation_a_launcher_waits_for_all_workers(step: Callable[[Cluster], None]) -> None:
    cluster = submitted(worker={"minReplicas": 1})
    cluster.reconcile()
    cluster.ready("train-worker-0", "train-worker-1")
    step(cluster)
    wait(cluster, 3600)
    assert not cluster.of(LAUNCHER)


# Events (A7).


def test_events_are_told_once_and_by_their_names() -> None:
    cluster = submitted()
    cluster.settle()
    cluster.vanish("train-worker-1")
    cluster.settle()
    for _ in range(3):
        cluster.reconcile()
    cluster.succeed()
    cluster.settle()
    assert [(each.type, each.reason) for each in cluster.events] == [
        ("Normal", "TrainingJobCreated"),
        ("Normal", "TrainingJobRunning"),
        ("Warning", "TrainingJobWorkerFailed"),
        ("Normal", "TrainingJobSucceeded"),
    ]


# While a scaler is in progress (A3, A4).


def test_a_job_scales_and_runs_again() -> None:
    cluster = running(submitted())
    uid = cluster.scale("ScaleOut", "more", count=1, timeout=timedelta(seconds=600))
    cluster.reconcile()
    cluster.reconcile()
    assert (status(cluster).phase, status(cluster).current_scaler) == ("Scaling", "ScaleOut:ns/more")
    assert len(status(cluster).target_workers) == 4
    assert true(cluster) == [*STEPS, "Scaling"]
    cluster.settle()
    assert (status(cluster).phase, status(cluster).current_scaler) == ("Running", "")
    assert true(cluster) == [*STEPS, "Scaling", "ScaleSucceeded"]
    assert cluster.size == len(status(cluster).current_workers) == 4
    assert cluster.scalers[uid].status.phase == "ScaleSucceeded"


def test_workers_that_are_not_replaced_are_the_first_that_a_scale_in_removes() -> None:
    cluster = running(submitted())
    end(cluster, "train-worker-0", "Failed", 1)
    cluster.settle()
    uid = cluster.scale("ScaleIn", "less", count=1)
    cluster.settle()
    assert cluster.scalers[uid].status.to_delete_pods == ("train-worker-0",)
    assert cluster.scalers[uid].status.phase == "ScaleSucceeded"
    assert cluster.listed() == ["train-worker-1", "train-worker-2"]
    assert "not replaced" not in cluster.status.explanation


def test_a_scale_out_beside_a_worker_that_is_not_replaced() -> None:
    cluster = running(submitted())
    end(cluster, "train-worker-0", "Failed", 1)
    cluster.settle()
    uid = cluster.scale("ScaleOut", "more", count=1, timeout=timedelta(seconds=600))
    cluster.settle()
    assert cluster.scalers[uid].status.phase == "ScaleSucceeded"
    assert cluster.listed() == ["train-worker-1", "train-worker-2", "train-worker-3"]
    assert status(cluster).target_workers == tuple(f"train-worker-{index}" for index in range(4))


def test_a_worker_that_a_scaler_adds_is_replaced_under_every_policy() -> None:
    cluster = running(submitted())
    uid = cluster.scale("ScaleOut", "more", count=1, timeout=timedelta(seconds=600))
    cluster.reconcile()
    cluster.reconcile()
    end(cluster, "train-worker-3", "Failed", 1)
    cluster.settle()
    assert cluster.scalers[uid].status.phase == "ScaleSucceeded"
    assert cluster.listed() == ["train-worker-0", "train-worker-1", "train-worker-2", "train-worker-4"]


def test_a_new_run_forgets_the_steps_of_the_old_one_and_not_its_scalers() -> None:
    cluster = running(submitted(restartPolicy="OnFailure"))
    cluster.scale("ScaleOut", "more", count=1, timeout=timedelta(seconds=600))
    cluster.settle()
    end(cluster, "train-launcher", "Failed", 1)
    cluster.settle()
    assert status(cluster).phase == "Running"
    assert [each for each in true(cluster) if each in STEPS] == STEPS
    assert len(status(cluster).current_workers) == 4
