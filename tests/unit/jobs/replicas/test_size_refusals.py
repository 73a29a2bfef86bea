# SPDX-License-Identifier: Apache-2.0
"""Which changes of a size a running job does not follow, and which it does."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import Raw, a_pytorchjob, a_tfjob, an_mpijob

from springtide.jobs.registry import SERVED

BEGUN = "2026-01-02T03:04:05Z"
WAY_OUT = "suspend it, change the size and resume it, which starts it again, from its checkpoint if it has one"
TF_RIGID = f"Forbidden: a TFJob without spec.enableDynamicWorker keeps its size while it runs; {WAY_OUT}"
TORCH_RIGID = f"Forbidden: a PyTorchJob without spec.elasticPolicy keeps its size while it runs; {WAY_OUT}"
ONLY_WORKERS = f"Forbidden: only the size of Worker can change while the job runs; {WAY_OUT}"
SUSPENDED: dict[str, Any] = {"runPolicy": {"suspend": True}}
DYNAMIC: dict[str, Any] = {"enableDynamicWorker": True}
ELASTIC: dict[str, Any] = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 5}}


def refused(old: Raw, new: Raw, **status: Any) -> list[tuple[str, str]]:
    served = next(each for each in SERVED if each.kind == new["kind"])
    state = {"status": {"startTime": BEGUN, **status}}
    return [(error.field, error.message) for error in served.size_errors(new | state, old | state)]


def tf(**roles: int) -> Raw:
    return a_tfjob(roles)


def torch(**roles: int) -> Raw:
    return a_pytorchjob(roles)


def test_a_job_that_is_not_elastic_keeps_the_size_of_each_role_while_it_runs() -> None:
    found = refused(tf(Chief=1, PS=1, Worker=2), tf(Chief=1, PS=2, Worker=3))
    assert found == [(f"spec.tfReplicaSpecs[{role}].replicas", TF_RIGID) for role in ("PS", "Worker")]
    assert refused(torch(Master=1, Worker=2), torch(Master=1, Worker=1)) == [
        ("spec.pytorchReplicaSpecs[Worker].replicas", TORCH_RIGID)
    ]


def test_a_role_has_the_name_that_the_user_wrote() -> None:
    assert [field for field, _ in refused(tf(Ps=1, worker=2), tf(Ps=2, worker=2))] == [
        "spec.tfReplicaSpecs[Ps].replicas"
    ]
    assert refused(tf(worker=2), tf(WORKER=2)) == []


def test_a_role_that_comes_or_goes_is_a_change_of_its_size() -> None:
    for old, new in ((tf(Worker=2), tf(Worker=2, Evaluator=1)), (tf(Worker=2, Evaluator=1), tf(Worker=2))):
        assert refused(old, new) == [("spec.tfReplicaSpecs[Evaluator].replicas", TF_RIGID)]


def test_replicas_that_are_written_out_are_no_change() -> None:
    unset = tf(Worker=1)
    del unset["spec"]["tfReplicaSpecs"]["Worker"]["replicas"]
    assert refused(unset, tf(Worker=1)) == []


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob"])
def test_of_an_elastic_job_only_the_workers_change(kind: str) -> None:
    if kind == "TFJob":
        old, new = a_tfjob({"PS": 1, "Worker": 2}, **DYNAMIC), a_tfjob({"PS": 2, "Worker": 3}, **DYNAMIC)
        field = "spec.tfReplicaSpecs[PS].replicas"
    else:
        old, new = a_pytorchjob({"Worker": 2}, **ELASTIC), a_pytorchjob({"Master": 1, "Worker": 3}, **ELASTIC)
        field = "spec.pytorchReplicaSpecs[Master].replicas"
    assert refused(old, new) == [(field, ONLY_WORKERS)]


def test_the_size_counts_by_the_elasticity_that_the_job_then_has() -> None:
    workers = {"Worker": 2}, {"Worker": 3}
    assert refused(a_tfjob(workers[0], **DYNAMIC), a_tfjob(workers[1])) != []
    assert refused(a_tfjob(workers[0]), a_tfjob(workers[1], **DYNAMIC)) == []


FREE: dict[str, tuple[Raw, Raw, dict[str, Any]]] = {
    "it has not started": (tf(Worker=2), tf(Worker=3), {"startTime": None}),
    "it is suspended": (a_tfjob({"Worker": 2}, **SUSPENDED), a_tfjob({"Worker": 3}, **SUSPENDED), {}),
    "it is suspended with the change": (tf(Worker=2), a_tfjob({"Worker": 3}, **SUSPENDED), {}),
    "it is resumed with the change": (a_tfjob({"Worker": 2}, **SUSPENDED), tf(Worker=3), {}),
    "it has finished": (tf(Worker=2), tf(Worker=3), {"conditions": [{"type": "Failed", "status": "True"}]}),
    "its size is corrected": (
        tf(Worker=9),
        tf(Worker=3),
        {"conditions": [{"type": "SizeDeferred", "status": "True"}]},
    ),
    "another controller runs it": (
        a_tfjob({"Worker": 2}, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}),
        a_tfjob({"Worker": 3}, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}),
        {},
    ),
    "its workers keep no names": (an_mpijob(workers=2), an_mpijob(workers=3), {}),
}


@pytest.mark.parametrize(("old", "new", "status"), FREE.values(), ids=FREE)
def test_a_size_may_change_where(old: Raw, new: Raw, status: dict[str, Any]) -> None:
    assert refused(old, new, **status) == []
