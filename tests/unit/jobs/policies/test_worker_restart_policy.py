# SPDX-License-Identifier: Apache-2.0
"""Which workers are replaced, and what a job does without those that are not."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.simulated import Cluster
from tests.unit.jobs.toy_with_launcher import a_toy_with_launcher

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.observed import Exit
from springtide.jobs.policies.backoff_limit import CAP

NEVER, ON_FAILURE, ALWAYS, EXIT_CODE = RestartPolicy


def a_job(policy: RestartPolicy, **options: Any) -> Cluster:
    return running(a_toy_with_launcher(worker_restarts=policy, **options))


def failed(code: int) -> dict[str, Any]:
    return {"phase": "Failed", "ready": False, "exit": Exit(code, "Error")}


ENDINGS: Final[dict[str, dict[str, Any]]] = {
    "failed with 1": failed(1),
    "failed with 128": failed(128),
    "failed with 129": failed(129),
    "failed with 254": failed(254),
    "failed with 255": failed(255),
    "failed without a code": {"phase": "Failed", "ready": False},
    "succeeded": {"phase": "Succeeded", "ready": False, "exit": Exit(0, "Completed")},
    "deleted": {"terminating": True},
}
NODES: Final[dict[str, dict[str, Any]]] = {
    "drained": {"terminating": True, "disruption": "EvictionByEvictionAPI"},
    "preempted": {"terminating": True, "disruption": "PreemptionByScheduler"},
    "collected with its node": {"terminating": True, "disruption": "DeletionByPodGC"},
    "evicted": {"phase": "Failed", "ready": False, "reason": "Evicted"},
    "stopped with its node": {"phase": "Failed", "ready": False, "reason": "NodeShutdown"},
    "on a node that does not respond": {"reason": "NodeLost"},
    "unknown": {"phase": "Unknown"},
}
SIGNALS: Final = ("failed with 129", "failed with 254")
FAILURES: Final = tuple(name for name in ENDINGS if name.startswith("failed"))
REPLACED: Final = {NEVER: (), ON_FAILURE: FAILURES, EXIT_CODE: SIGNALS, ALWAYS: (*ENDINGS, "missing")}


@pytest.mark.parametrize("policy", REPLACED)
@pytest.mark.parametrize("ending", [*ENDINGS, "missing"])
def test_a_worker_is_replaced_under_a_fresh_name_as_its_policy_says(policy: RestartPolicy, ending: str) -> None:
    cluster = a_job(policy)
    if ending == "missing":
        cluster.vanish("pi-worker-1")
    else:
        cluster.change("pi-worker-1", **ENDINGS[ending])
    cluster.settle()
    again = ending in REPLACED[policy]
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2", *(["pi-worker-3"] if again else [])]
    assert cluster.snapshot.ledger.dead == (() if again else (1,))
    assert not cluster.finished


@pytest.mark.parametrize("policy", REPLACED)
@pytest.mark.parametrize("ending", NODES)
def test_a_worker_that_was_lost_with_its_node_is_replaced_under_every_policy(
    policy: RestartPolicy, ending: str
) -> None:
    cluster = a_job(policy)
    cluster.change("pi-worker-1", **NODES[ending])
    cluster.reconcile()
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2", "pi-worker-3"]
    assert cluster.snapshot.ledger.dead == ()


def test_a_worker_that_is_deleted_while_its_node_is_drained_is_replaced() -> None:
    cluster = a_job(NEVER)
    cluster.leaving = frozenset({cluster.pods["pi-worker-1"].node})
    cluster.terminate("pi-worker-1")
    cluster.reconcile()
    cluster.settle()
    assert cluster.snapshot.ledger.dead == ()
    assert len(cluster.listed()) == 3


def test_a_worker_on_a_node_that_is_drained_is_moved_but_a_dead_one_is_not() -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-1")
    cluster.settle()
    cluster.leaving = frozenset({cluster.pods["pi-worker-1"].node})
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]
    cluster.leaving = frozenset({cluster.pods["pi-worker-2"].node})
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-3"]


def test_a_worker_that_is_not_replaced_leaves_host_list_and_rights_at_once() -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-1")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]
    assert cluster.rights("pods/exec") == {"pi-worker-0", "pi-worker-2"}


def test_the_job_says_which_worker_is_not_replaced_and_why() -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert (cluster.status.state, cluster.status.workers) == ("Running", "2/3")
    assert cluster.status.explanation == (
        "The job runs with 2 of 3 workers; pi-worker-1 exited with code 1 and is not replaced "
        "(worker.restartPolicy Never)."
    )
    assert [(each.type, each.reason) for each in cluster.events] == [("Warning", "WorkerNotReplaced")]
    cluster.vanish("pi-worker-1")
    cluster.settle()
    assert "pi-worker-1 was deleted and is not replaced" in cluster.status.explanation
    assert cluster.workers() == ["pi-worker-0", "pi-worker-2"]
    assert len(cluster.events) == 1


def test_a_job_without_its_dead_workers_counts_as_running() -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-0")
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert cluster.conditions["Running"] == "True"
    assert "pi-worker-0, pi-worker-1 have ended and are not replaced" in cluster.status.explanation


def test_all_workers_may_be_dead_while_the_launcher_decides() -> None:
    cluster = a_job(NEVER)
    for name in cluster.workers():
        cluster.fail(name)
    cluster.settle()
    assert not cluster.finished
    assert "0 workers ready" in cluster.status.explanation
    cluster.succeed()
    cluster.settle()
    assert cluster.conditions["Succeeded"] == "True"


def test_dead_workers_are_the_first_to_leave_and_a_larger_job_gets_others() -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-0")
    cluster.settle()
    cluster.resize(4)
    cluster.settle()
    assert cluster.listed() == ["pi-worker-1", "pi-worker-2", "pi-worker-3"]
    cluster.resize(3)
    cluster.settle()
    assert cluster.workers() == ["pi-worker-1", "pi-worker-2", "pi-worker-3"]
    assert cluster.snapshot.ledger.dead == ()


def test_dead_workers_and_their_replacements_are_told_once_by_the_kinds_names() -> None:
    cluster = a_job(ON_FAILURE)
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert [(each.type, each.reason, each.message) for each in cluster.events] == [
        ("Warning", "ToyWorkerFailed", "pi-worker-1 exited with code 1; a replacement is created"),
        ("Normal", "ToyWorkerCreated", "pi-worker-3 replaces a lost worker"),
    ]


def test_replacements_keep_cap_and_back_off() -> None:
    cluster = a_job(ON_FAILURE)
    for _ in range(CAP):
        cluster.fail(cluster.listed()[-1])
        cluster.reconcile()
        for _ in range(12):
            cluster.tick(40)
            cluster.reconcile()
        assert not cluster.finished
    cluster.fail(cluster.listed()[-1])
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"
    assert f"like its {CAP} predecessors" in cluster.status.explanation


def test_a_worker_that_is_not_replaced_after_many_failures_does_not_end_the_job() -> None:
    cluster = a_job(EXIT_CODE)
    for code in (*(137,) * CAP, 1):
        cluster.fail(cluster.listed()[-1], code=code)
        cluster.reconcile()
        for _ in range(12):
            cluster.tick(40)
            cluster.reconcile()
    assert not cluster.finished
    assert len(cluster.snapshot.ledger.dead) == 1


def test_a_launcher_that_is_created_again_gets_new_workers() -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-0")
    cluster.settle()
    cluster.vanish("pi-launcher")
    cluster.settle()
    assert cluster.listed() == ["pi-worker-3", "pi-worker-4", "pi-worker-5"]
    assert cluster.workers() == cluster.listed()


def test_a_launcher_that_can_never_start_fails_the_job() -> None:
    cluster = a_toy_with_launcher(worker_restarts=NEVER)
    cluster.reconcile()
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"
    assert cluster.status.explanation == (
        "MPIJob ns/pi has failed: pi-worker-1 exited with code 1 and is not replaced (worker.restartPolicy Never), "
        "and the launcher starts with 3 workers"
    )


def test_a_launcher_that_could_not_start_is_tried_again_where_the_job_may_be() -> None:
    cluster = a_toy_with_launcher(worker_restarts=NEVER, retries=1)
    cluster.reconcile()
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert cluster.listed() == ["pi-worker-3", "pi-worker-4", "pi-worker-5"]
    assert cluster.status.restarts["Launcher"] == 1
    assert "JobRestarted" in reasons(cluster)


def test_kinds_without_a_policy_replace_all_workers() -> None:
    cluster = running(elastic(2))
    cluster.change("pi-worker-1", phase="Succeeded", ready=False)
    cluster.settle()
    assert len(cluster.listed()) == 2
    assert reasons(cluster) == ["WorkerReplaced"]


@pytest.mark.parametrize("until", range(8))
def test_the_operator_may_be_killed_while_a_worker_dies(until: int) -> None:
    cluster = a_job(NEVER)
    cluster.fail("pi-worker-1")
    cluster.reconcile(until)
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]
    assert cluster.snapshot.ledger.dead == (1,)
