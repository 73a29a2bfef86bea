# SPDX-License-Identifier: Apache-2.0
"""Jobs, and objects of jobs, written to harm the operator: of kinds whose replicas keep their names."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.jobs.builders import pytorch, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.api.defaults.tfjob import TF
from springtide.api.job import Job
from springtide.jobs import engine
from springtide.jobs.actions import Create
from springtide.jobs.kinds.tensorflow.adapter import TFKind
from springtide.jobs.ledger import ANNOTATION
from springtide.jobs.observed import Settings
from springtide.jobs.parts.named_replicas import LONGEST_VARIABLE

LATEST = datetime.max.replace(tzinfo=UTC)


def created(cluster: Cluster, kind: str) -> int:
    actions = cluster.reconcile().actions
    return sum(isinstance(each, Create) and each.manifest["kind"] == kind for each in actions)


def suspended_without(cluster: Cluster, role: str) -> Cluster:
    cluster.raw = copy.deepcopy(cluster.raw)
    cluster.policy(suspend=True)
    del cluster.raw["spec"][cluster.specs][role]
    cluster.settle()
    return cluster


@pytest.mark.parametrize("role", ["PS", "Worker"])
def test_pods_of_a_role_that_is_removed_are_deleted(role: str) -> None:
    cluster = running(tensorflow({"Chief": 1, "PS": 1, "Worker": 2}))
    assert suspended_without(cluster, role).pods == {}
    assert cluster.status.state == "Suspended"
    cluster.policy(suspend=False)
    cluster.settle()
    assert cluster.status.state == "Running"


def test_a_running_job_goes_on_when_its_workers_are_removed_where_no_webhook_answers() -> None:
    cluster = running(pytorch({"Master": 1, "Worker": 2}))
    cluster.raw = copy.deepcopy(cluster.raw)
    del cluster.raw["spec"]["pytorchReplicaSpecs"]["Worker"]
    cluster.settle()
    assert sorted(cluster.pods) == ["mnist-master-0"]
    cluster.succeed()
    cluster.settle()
    assert cluster.conditions["Succeeded"] == "True"


@pytest.mark.parametrize("size", [2**31 - 1, 20_000])
def test_sizes_that_another_client_writes_into_the_ledger_are_not_believed(size: int) -> None:
    cluster = running(tensorflow({"PS": 1, "Worker": 2}))
    (ledger,) = (body for key, body in cluster.objects.items() if key.kind == "ConfigMap")
    ledger["metadata"]["annotations"][ANNOTATION] = f'{{"sizes":{{"Worker":{size},"PS":{size}}}}}'
    cluster.settle()
    assert len(cluster.pods) == 3


def test_a_lower_limit_of_the_operator_leaves_a_running_job_its_size() -> None:
    cluster = running(tensorflow({"Worker": 5}))
    cluster.settings = Settings(max_workers=2)
    cluster.settle()
    assert len(cluster.pods) == 5


def test_one_plan_creates_a_limited_number_of_services_and_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_PODS", 4)
    cluster = tensorflow({"Worker": 10})
    assert [created(cluster, "Service") for _ in range(2)] == [4, 4]
    cluster.settle()
    assert len(cluster.pods) == 10
    assert cluster.conditions["Running"] == "True"


def test_one_plan_builds_no_more_pods_than_it_creates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each TF_CONFIG has the addresses of all replicas."""
    built: list[str] = []
    original = TFKind.pod

    def pod(self: TFKind, job: Job[TF], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        built.append(role)
        return original(self, job, role, index, settings)

    monkeypatch.setattr(TFKind, "pod", pod)
    cluster = tensorflow({"Worker": 900})
    cluster.settle()
    built.clear()
    cluster.pods.clear()
    cluster.reconcile()
    assert len(built) <= engine.MOST_PODS


@pytest.mark.parametrize(
    ("cluster", "variable", "remedy"),
    [
        (tensorflow({"Worker": 5000}), "TF_CONFIG", "set spec.enableDynamicWorker"),
        (tensorflow({"PS": 5000, "Worker": 1}, enableDynamicWorker=True), "TF_CONFIG", "ask for fewer replicas"),
        (
            pytorch({"Worker": 1}, elasticPolicy={"rdzvConf": [{"key": "k", "value": "v" * LONGEST_VARIABLE}]}),
            "PET_RDZV_CONF",
            "shorten spec.elasticPolicy",
        ),
    ],
)
def test_a_job_with_a_variable_that_linux_does_not_pass_is_not_started(
    cluster: Cluster, variable: str, remedy: str
) -> None:
    cluster.settle()
    assert (cluster.pods, cluster.objects) == ({}, {})
    assert cluster.conditions == {"Created": "True", "CannotStart": "True"}
    (told,) = (event for event in cluster.events if event.reason == "VariableTooLong")
    assert (told.type, told.message) == ("Warning", cluster.status.explanation)
    assert told.message.startswith(f"{variable} has ")
    assert remedy in told.message


def test_it_starts_once_its_variables_are_short_enough() -> None:
    cluster = tensorflow({"Worker": 5000})
    cluster.settle()
    cluster.resize(3)
    cluster.settle()
    assert (cluster.conditions["CannotStart"], cluster.conditions["Running"]) == ("False", "True")


def test_dynamic_workers_may_be_more_because_they_do_not_know_each_other() -> None:
    cluster = tensorflow({"PS": 1, "Worker": 5000}, enableDynamicWorker=True)
    assert created(cluster, "Service") == engine.MOST_PODS


@pytest.mark.parametrize("forged", [{"start_time": LATEST}, {"completion_time": LATEST}])
def test_times_at_the_end_of_the_calendar_are_no_error(forged: dict[str, Any]) -> None:
    limits = {"activeDeadlineSeconds": 9000, "ttlSecondsAfterFinished": 9000}
    cluster = running(pytorch({"Worker": 1}, runPolicy=limits))
    if "completion_time" in forged:
        cluster.succeed()
        cluster.settle()
    cluster.status = replace(cluster.status, **forged)
    cluster.settle()
    assert not cluster.deleted


def test_a_resumed_job_has_the_new_size_although_a_replica_had_ended() -> None:
    """Under clean-up policy Running, too: pods that have ended have names that the next run needs."""
    cluster = running(tensorflow({"Chief": 1, "Worker": 2}, runPolicy={"cleanPodPolicy": "Running"}))
    cluster.change("mnist-worker-1", phase="Succeeded", ready=False)
    cluster.settle()
    cluster.policy(suspend=True)
    cluster.resize(3)
    cluster.settle()
    cluster.policy(suspend=False)
    cluster.settle()
    assert sorted(cluster.pods) == ["mnist-chief-0", "mnist-worker-0", "mnist-worker-1", "mnist-worker-2"]
