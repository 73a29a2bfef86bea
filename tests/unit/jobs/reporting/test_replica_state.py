# SPDX-License-Identifier: Apache-2.0
"""What users read of a job whose replicas keep their names."""

from __future__ import annotations

from typing import Any

from tests.unit.jobs.builders import pytorch, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Exit, Waiting

MPI = "RuntimeError: Distributed package doesn't have MPI built in."


def told(cluster: Cluster) -> tuple[str, str]:
    return cluster.status.state, cluster.status.explanation


def started(roles: dict[str, int], **spec: Any) -> Cluster:
    return running(pytorch(roles, **spec))


def test_the_roles_are_counted() -> None:
    assert told(started({"Master": 1, "Worker": 2})) == ("Running", "The job runs with 1 Master and 2 workers.")
    assert told(started({"Worker": 1})) == ("Running", "The job runs with 1 worker.")
    cluster = running(tensorflow({"Chief": 1, "PS": 2, "Evaluator": 1, "Worker": 3}, restart="OnFailure"))
    assert cluster.status.explanation == "The job runs with 1 Chief, 2 PS, 1 Evaluator and 3 workers."


def test_a_job_that_waits_names_the_replica_that_others_wait_for() -> None:
    cluster = pytorch({"Master": 1, "Worker": 2})
    cluster.reconcile()
    assert told(cluster) == ("Queued", "3 of 3 replicas are waiting for a place on a node.")
    for name in cluster.pods:
        cluster.change(name, node="node-a")
    cluster.reconcile()
    missing = "mnist-master-0, mnist-worker-0, mnist-worker-1 are not"
    assert told(cluster) == ("Starting", f"0 of 3 replicas are ready; {missing}.")
    cluster.ready("mnist-worker-0", "mnist-worker-1")
    cluster.reconcile()
    assert told(cluster) == ("Starting", "2 of 3 replicas are ready; mnist-master-0 is not.")


def test_the_cause_names_the_replica() -> None:
    cluster = pytorch({"Master": 1, "Worker": 1})
    cluster.reconcile()
    cluster.ready("mnist-worker-0")
    waiting = Waiting("Unschedulable", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu")
    cluster.change("mnist-master-0", waiting=waiting)
    cluster.reconcile()
    state, explanation = told(cluster)
    assert state == "Queued"
    assert explanation.startswith("mnist-master-0 cannot be scheduled: 0/3 nodes are available")


def test_a_replica_that_crashes_is_told_of_with_its_last_lines_and_the_way_out() -> None:
    cluster = started({"Master": 1, "Worker": 2})
    ended = Exit(1, "Error", MPI)
    cluster.change("mnist-master-0", restarts=1, last_exit=ended, started=cluster.now)
    cluster.reconcile()
    state, explanation = told(cluster)
    assert state == "Restarting"
    said = MPI.removesuffix(".")
    assert explanation.startswith(f"mnist-master-0 exited with code 1: {said}; it was restarted, restart 1 of 6; ")
    assert explanation.endswith("run the program as an MPIJob with mpi4py.")
    cluster.tick(120)
    cluster.reconcile()
    assert told(cluster) == ("Running", "The job runs with 1 Master and 2 workers.")


def test_a_job_that_fails_says_the_way_out() -> None:
    cluster = started({"Master": 1, "Worker": 1}, runPolicy={"backoffLimit": 1})
    cluster.change("mnist-worker-0", restarts=2, last_exit=Exit(1, "Error", MPI))
    cluster.settle()
    state, explanation = told(cluster)
    assert state == "Failed"
    assert "has reached the specified backoff limit (1): mnist-worker-0 exited with code 1" in explanation
    assert explanation.endswith("run the program as an MPIJob with mpi4py")


def test_replicas_that_run_on_after_the_end_are_named_until_they_are_gone() -> None:
    cluster = running(tensorflow({"PS": 1, "Worker": 2}, restart="OnFailure"))
    cluster.succeed()
    cluster.settle()
    state, explanation = told(cluster)
    assert state == "Succeeded"
    assert explanation == (
        "TFJob ns/mnist successfully completed. mnist-ps-0 still runs, because cleanPodPolicy is None; "
        "to end it: kubectl delete tfjob mnist -n ns"
    )
    cluster.vanish("mnist-ps-0")
    cluster.settle()
    assert told(cluster) == ("Succeeded", "TFJob ns/mnist successfully completed.")


def test_they_are_named_after_the_cause_of_a_failure() -> None:
    cluster = started({"Master": 1, "Worker": 1}, restart="Never")
    cluster.fail("mnist-worker-0")
    cluster.settle()
    assert "-n ns; mnist-master-0 still runs, because cleanPodPolicy is None" in told(cluster)[1]


def test_replicas_that_have_succeeded_are_counted() -> None:
    cluster = started({"Master": 1, "Worker": 2})
    cluster.change("mnist-worker-0", phase="Succeeded", ready=False)
    cluster.settle()
    expected = "The job runs with 1 Master and 2 workers; 1 of 3 replicas has succeeded."
    assert told(cluster) == ("Running", expected)


def test_a_replica_that_is_not_ready_is_named() -> None:
    cluster = started({"Master": 1, "Worker": 2})
    cluster.change("mnist-worker-1", ready=False)
    cluster.reconcile()
    assert told(cluster) == ("Running", "The job runs; mnist-worker-1 is not ready.")


def test_an_elastic_job_grows_and_shrinks() -> None:
    cluster = started({"Worker": 2}, elasticPolicy={"minReplicas": 1, "maxReplicas": 4})
    cluster.resize(3)
    cluster.reconcile()
    assert told(cluster) == ("Scaling out", "2 of 3 workers are ready.")
    cluster.settle()
    cluster.resize(1)
    cluster.reconcile()
    ending = "mnist-worker-1, mnist-worker-2 are terminating within their grace periods."
    assert told(cluster) == ("Scaling in", ending)
