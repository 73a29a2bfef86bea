# SPDX-License-Identifier: Apache-2.0
"""What happens to a TFJob and a PyTorchJob, event by event, as training-operator 1.9 has it; a test a row.

Where upstream is known to be wrong the row says what happens here, and the test names upstream's report.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import pytorch, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Delete
from springtide.jobs.observed import Exit

Submit = Callable[..., Cluster]


def tf(**spec: Any) -> Cluster:
    return running(tensorflow({"PS": 1, "Worker": 2}, **spec))


def tf_with_chief(**spec: Any) -> Cluster:
    return running(tensorflow({"Chief": 1, "PS": 1, "Worker": 2}, **spec))


def torch(**spec: Any) -> Cluster:
    return running(pytorch({"Master": 1, "Worker": 2}, **spec))


def torch_workers(**spec: Any) -> Cluster:
    return running(pytorch({"Worker": 2}, **spec))


every_job = pytest.mark.parametrize("submit", [tf, tf_with_chief, torch, torch_workers])
every_policy = pytest.mark.parametrize("restart", ["Never", "OnFailure", "Always", "ExitCode"])


def succeed(cluster: Cluster, *names: str) -> None:
    for name in names:
        cluster.change(name, phase="Succeeded", ready=False, exit=Exit(0, "Completed"))


def ended(cluster: Cluster) -> str:
    """The type of the terminal condition: there is never more than one."""
    found = [each for each in ("Succeeded", "Failed") if cluster.conditions.get(each) == "True"]
    assert len(found) <= 1
    assert bool(found) == (cluster.status.completion_time is not None)
    return "".join(found)


def is_whole(cluster: Cluster) -> bool:
    """All replicas run, and nobody counts a failure."""
    places = {each.name for each in cluster.snapshot.fixed}
    return {pod.name for pod in cluster.pods.values() if pod.ready} == places and not ended(cluster)


# How a replica's failure counts.


@every_job
@pytest.mark.parametrize(
    ("restart", "code", "again"),
    [
        ("ExitCode", 128, True),
        ("ExitCode", 137, True),
        ("ExitCode", 255, True),
        ("ExitCode", 1, False),
        ("ExitCode", 127, False),
        ("OnFailure", 1, True),
        ("Always", 1, True),
        ("Never", 137, False),
    ],
)
def test_a_replica_that_fails_is_tried_again_as_its_restart_policy_says(
    submit: Submit, restart: str, code: int, again: bool
) -> None:
    cluster = submit(restart=restart)
    before = cluster.pods["mnist-worker-1"].uid
    cluster.fail("mnist-worker-1", code=code)
    cluster.reconcile()
    assert cluster.conditions.get("Restarting", "False") == str(again)
    cluster.settle()
    assert ended(cluster) == ("" if again else "Failed")
    assert (cluster.pods["mnist-worker-1"].uid != before) is again
    assert cluster.status.restarts == ({"Worker": 1} if again else {})
    assert not again or cluster.conditions["Running"] == "True"


@every_job
@pytest.mark.parametrize("restart", ["ExitCode", "OnFailure", "Always"])
def test_a_replica_that_is_evicted_is_created_again(submit: Submit, restart: str) -> None:
    """Its exit code is not known, which counts as retryable."""
    cluster = submit(restart=restart)
    cluster.change("mnist-worker-0", phase="Failed", ready=False, reason="Evicted", message="low on memory")
    cluster.settle()
    assert is_whole(cluster)


@pytest.mark.parametrize("submit", [tf_with_chief, torch])
def test_a_worker_that_may_not_be_tried_again_fails_the_job_while_its_chief_runs(submit: Submit) -> None:
    cluster = submit(restart="Never")
    cluster.fail("mnist-worker-1")
    cluster.settle()
    assert ended(cluster) == "Failed"
    assert "mnist-worker-1 exited with code 1" in cluster.status.conditions[-1].message


def test_a_dynamic_worker_may_fail_without_its_job_unless_it_is_the_last() -> None:
    cluster = tf(restart="Never", enableDynamicWorker=True)
    cluster.fail("mnist-worker-1")
    cluster.settle()
    assert ended(cluster) == ""
    cluster.fail("mnist-worker-0")
    cluster.settle()
    assert ended(cluster) == "Failed"


@pytest.mark.parametrize(("submit", "leader"), [(tf_with_chief, "mnist-chief-0"), (torch, "mnist-master-0")])
def test_a_chief_that_fails_is_created_again_alone(submit: Submit, leader: str) -> None:
    """So it is unless the job asks for a restart of all replicas (#2000, #2269): see test_whole_job_restart."""
    cluster = submit(restart="ExitCode")
    before = {name: pod.uid for name, pod in cluster.pods.items()}
    cluster.fail(leader, code=139)
    cluster.settle()
    assert is_whole(cluster)
    assert {name for name, pod in cluster.pods.items() if pod.uid != before[name]} == {leader}


# A pod is deleted.


@every_job
@every_policy
def test_deleting_a_pod_never_fails_its_job(submit: Submit, restart: str) -> None:
    """Upstream counts a terminating pod as failed (#2124, #1452, #1560)."""
    cluster = submit(restart=restart)
    cluster.terminate("mnist-worker-0")
    cluster.reconcile()
    assert ended(cluster) == ""
    cluster.settle()
    assert is_whole(cluster)
    assert cluster.status.restarts == {}


@every_job
@every_policy
@pytest.mark.parametrize("code", [0, 1, 143])
def test_how_a_deleted_pod_exits_does_not_matter(submit: Submit, restart: str, code: int) -> None:
    cluster = submit(restart=restart)
    phase = "Succeeded" if code == 0 else "Failed"
    cluster.change("mnist-worker-0", phase=phase, ready=False, terminating=True, exit=Exit(code, "Error"))
    cluster.settle()
    assert is_whole(cluster)


@pytest.mark.parametrize("submit", [tf_with_chief, torch])
def test_a_pod_that_succeeded_is_not_run_again_when_it_is_deleted(submit: Submit) -> None:
    """Upstream runs it a second time (#1186, #2454)."""
    cluster = submit()
    succeed(cluster, "mnist-worker-1")
    cluster.reconcile()
    cluster.vanish("mnist-worker-1")
    cluster.settle()
    assert "mnist-worker-1" not in cluster.pods
    assert ended(cluster) == ""
    cluster.succeed()
    cluster.settle()
    assert ended(cluster) == "Succeeded"


def test_a_success_counts_also_when_its_pod_is_deleted_before_the_others_succeed() -> None:
    cluster = torch_workers()
    succeed(cluster, "mnist-worker-0")
    cluster.reconcile()
    cluster.vanish("mnist-worker-0")
    succeed(cluster, "mnist-worker-1")
    cluster.settle()
    assert ended(cluster) == "Succeeded"


# A node is lost.


@every_job
@every_policy
def test_a_lost_node_neither_fails_nor_hangs_the_job(submit: Submit, restart: str) -> None:
    """Upstream's TFJob fails, its PyTorchJob waits for ever for a pod that stays Terminating (#2072, #2185, #999)."""
    cluster = submit(restart=restart)
    lost = cluster.pods["mnist-worker-1"]
    cluster.change(lost.name, ready=False, reason="NodeLost", node="silent", terminating=True)
    cluster.reconcile()
    cluster.now += timedelta(seconds=10)
    forced = [each for each in cluster.plan().actions if isinstance(each, Delete) and each.key.name == lost.name]
    assert [each.grace for each in forced] == [0]
    cluster.settle()
    assert is_whole(cluster)
    assert cluster.pods[lost.name].uid != lost.uid


# The size changes.


def elastic_jobs() -> list[Cluster]:
    bounds = {"minReplicas": 1, "maxReplicas": 4}
    return [
        tf(enableDynamicWorker=True),
        tf_with_chief(enableDynamicWorker=True),
        torch_workers(elasticPolicy=bounds),
        torch(elasticPolicy=bounds),
    ]


@pytest.mark.parametrize("code", [0, 143])
@pytest.mark.parametrize("number", range(4))
def test_a_worker_that_leaves_is_neither_a_failure_nor_a_success(number: int, code: int) -> None:
    """Upstream's TFJob fails with it; its elastic PyTorchJob succeeds when the worker that was removed exits with 0."""
    cluster = elastic_jobs()[number]
    cluster.resize(1)
    cluster.reconcile()
    assert cluster.pods["mnist-worker-1"].terminating
    phase = "Succeeded" if code == 0 else "Failed"
    cluster.change("mnist-worker-1", phase=phase, ready=False, exit=Exit(code))
    cluster.reconcile()
    assert ended(cluster) == ""
    cluster.settle()
    assert is_whole(cluster)
    assert cluster.workers() == ["mnist-worker-0"]


@pytest.mark.parametrize("number", range(4))
def test_a_worker_that_left_and_exited_with_0_before_it_was_deleted_is_no_success_either(number: int) -> None:
    cluster = elastic_jobs()[number]
    cluster.resize(1)
    succeed(cluster, "mnist-worker-1")
    cluster.settle()
    assert is_whole(cluster)
    cluster.resize(2)
    cluster.settle()
    assert cluster.workers() == ["mnist-worker-0", "mnist-worker-1"]
    assert is_whole(cluster)


@pytest.mark.parametrize("number", range(4))
def test_elastic_jobs_grow_with_pods_and_services(number: int) -> None:
    cluster = elastic_jobs()[number]
    cluster.resize(4)
    cluster.settle()
    assert is_whole(cluster)
    services = {key.name for key in cluster.objects if key.kind == "Service"}
    assert services == set(cluster.pods) >= {"mnist-worker-3"}


@every_job
@pytest.mark.parametrize("size", [1, 3])
def test_other_jobs_keep_their_size_until_they_start_anew(submit: Submit, size: int) -> None:
    """Upstream resizes them under ranks that know each other by number, and fails TFJobs that shrink."""
    cluster = submit()
    cluster.resize(size)
    cluster.settle()
    assert is_whole(cluster)
    assert len(cluster.workers()) == 2
    assert cluster.conditions["SizeDeferred"] == "True"
    for suspend in (True, False):
        cluster.policy(suspend=suspend)
        cluster.settle()
    assert len(cluster.workers()) == size
    assert is_whole(cluster)


# How a job ends.


@pytest.mark.parametrize("submit", [tf_with_chief, torch])
def test_a_success_and_a_failure_at_once_are_a_success_and_nothing_else(submit: Submit) -> None:
    """Upstream writes both conditions (TFJob), or one of the two at random (PyTorchJob)."""
    cluster = submit(restart="Never")
    cluster.fail("mnist-worker-1")
    cluster.succeed()
    cluster.settle()
    assert ended(cluster) == "Succeeded"


@pytest.mark.parametrize("submit", [tf_with_chief, torch])
def test_workers_may_still_run_when_their_chief_has_succeeded(submit: Submit) -> None:
    cluster = submit()
    cluster.succeed()
    cluster.settle()
    assert ended(cluster) == "Succeeded"
    assert cluster.pods["mnist-worker-0"].alive


@every_job
def test_a_permanent_failure_has_its_time_and_is_deleted_after_its_time_to_live(submit: Submit) -> None:
    """Upstream never sets completionTime, and its clean-up ends with an error each time."""
    cluster = submit(restart="ExitCode", runPolicy={"ttlSecondsAfterFinished": 60})
    cluster.fail("mnist-worker-0", code=2)
    cluster.settle()
    assert ended(cluster) == "Failed"
    cluster.now += timedelta(seconds=60)
    cluster.reconcile()
    assert cluster.deleted


@every_job
def test_nothing_changes_a_job_that_has_ended(submit: Submit) -> None:
    cluster = submit(restart="Never")
    cluster.fail("mnist-worker-0")
    cluster.settle()
    cluster.succeed()
    cluster.settle()
    assert ended(cluster) == "Failed"


# Whose success is the job's.

FIRST, ALL = "", "AllWorkers"
BOUNDS = {"minReplicas": 1, "maxReplicas": 4}
CHIEF, MASTER, PS, ZERO, ONE, EVALUATOR = (
    f"mnist-{name}" for name in ("chief-0", "master-0", "ps-0", "worker-0", "worker-1", "evaluator-0")
)


@pytest.mark.parametrize(
    ("roles", "policy", "done", "succeeds"),
    [
        ({"Chief": 1, "Worker": 2}, FIRST, [CHIEF], True),
        ({"Chief": 1, "Worker": 2}, FIRST, [ZERO, ONE], False),
        ({"Chief": 1, "Worker": 2}, ALL, [ZERO, ONE], False),
        ({"Chief": 1, "Worker": 2}, ALL, [CHIEF], True),
        ({"Master": 1, "Worker": 2}, FIRST, [MASTER], True),
        ({"Master": 1, "PS": 1, "Worker": 2}, FIRST, [PS, ZERO, ONE], False),
        ({"Chief": 2, "Worker": 1}, FIRST, [CHIEF], False),
        ({"Chief": 2, "Worker": 1}, FIRST, [CHIEF, "mnist-chief-1"], True),
        ({"PS": 1, "Worker": 2}, FIRST, [ZERO], True),
        ({"PS": 1, "Worker": 2}, FIRST, [ONE], False),
        ({"PS": 1, "Worker": 2}, FIRST, [ONE, ZERO], True),
        ({"PS": 1, "Worker": 2}, ALL, [ZERO], False),
        ({"PS": 1, "Worker": 2}, ALL, [ZERO, ONE], True),
        ({"PS": 1, "Evaluator": 1, "Worker": 2}, FIRST, [PS, EVALUATOR], False),
        ({"PS": 1}, FIRST, [PS], False),
    ],
)
def test_whose_success_is_that_of_a_tfjob(roles: dict[str, int], policy: str, done: list[str], succeeds: bool) -> None:
    cluster = running(tensorflow(roles, successPolicy=policy))
    succeed(cluster, *done)
    cluster.settle()
    assert ended(cluster) == ("Succeeded" if succeeds else "")


@pytest.mark.parametrize(
    ("roles", "elastic", "done", "succeeds"),
    [
        ({"Master": 1, "Worker": 2}, None, [MASTER], True),
        ({"Master": 1, "Worker": 2}, None, [ZERO, ONE], False),
        ({"Master": 1, "Worker": 2}, BOUNDS, [ZERO, ONE], False),
        ({"Master": 1, "Worker": 2}, BOUNDS, [MASTER], True),
        ({"Master": 1}, None, [MASTER], True),
        ({"Worker": 2}, None, [ZERO], False),
        ({"Worker": 2}, None, [ZERO, ONE], True),
        ({"Worker": 2}, BOUNDS, [ONE], True),
    ],
)
def test_whose_success_is_that_of_a_pytorchjob(
    roles: dict[str, int], elastic: dict[str, int] | None, done: list[str], succeeds: bool
) -> None:
    cluster = running(pytorch(roles, elasticPolicy=elastic))
    succeed(cluster, *done)
    cluster.settle()
    assert ended(cluster) == ("Succeeded" if succeeds else "")
