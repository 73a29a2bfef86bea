# SPDX-License-Identifier: Apache-2.0
"""Jobs that ask for more workers than the operator runs for one job, and large jobs that it runs.

Nothing may count up to what a job asks for: a plan for 2147483647 workers would not come to an end.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import elastic, reasons, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.jobs import engine
from springtide.jobs.actions import Create, Delete
from springtide.jobs.observed import Settings

LARGEST = 2**31 - 1


def asks_for(least: str, **spec: Any) -> Cluster:
    command = ("horovodrun", "--min-np", least, "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "x")
    return Cluster(an_mpijob("v1", command=command, **spec))


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(Cluster(an_mpijob("v1", workers=LARGEST)), id="replicas of v1"),
        pytest.param(Cluster(an_mpijob("v2beta1", workers=LARGEST)), id="replicas of v2beta1"),
        pytest.param(Cluster(an_mpijob(elasticPolicy={"minReplicas": LARGEST})), id="elasticPolicy"),
        pytest.param(asks_for(str(LARGEST)), id="the command line"),
        pytest.param(asks_for("9" * 18), id="more than a field holds"),
        pytest.param(asks_for(str(LARGEST), slotsPerWorker=4), id="slots"),
        pytest.param(
            Cluster(an_mpijob("v2beta1", workers=LARGEST), Settings(gang_scheduler="volcano")), id="as one gang"
        ),
    ],
)
def test_a_job_that_is_too_large_is_not_started_and_says_what_to_do(cluster: Cluster) -> None:
    cluster.settle()
    assert (cluster.pods, cluster.objects, cluster.batch) == ({}, {}, None)
    assert cluster.conditions == {"Created": "True", "TooManyWorkers": "True"}
    (told,) = (event for event in cluster.events if event.reason == "AboveOperatorLimit")
    assert told.type == "Warning"
    assert "at most 10000 are allowed: the job is not started" in told.message
    assert "raise its --max-workers-per-job" in told.message
    assert cluster.status.explanation == told.message


def test_it_starts_once_it_asks_for_less() -> None:
    cluster = Cluster(an_mpijob("v1", workers=LARGEST))
    cluster.settle()
    cluster.resize(2)
    cluster.settle()
    assert cluster.conditions["TooManyWorkers"] == "False"
    assert len(cluster.workers()) == 2


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_a_job_that_runs_goes_on_with_the_workers_it_has_and_ends(version: str) -> None:
    cluster = running(Cluster(an_mpijob(version, workers=3)))
    cluster.resize(LARGEST)
    cluster.settle()
    assert len(cluster.workers()) == 3
    assert cluster.conditions["TooManyWorkers"] == "True"
    assert reasons(cluster) == ["AboveOperatorLimit"]
    assert "the job continues with 3" in cluster.status.conditions[-1].message
    cluster.succeed()
    cluster.settle()
    assert cluster.conditions["Succeeded"] == "True"


def test_workers_it_loses_are_replaced_and_so_is_its_launcher() -> None:
    cluster = running(elastic(3, runPolicy={"backoffLimit": 2}, version="v2beta1"))
    cluster.raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"][6] = str(LARGEST)
    cluster.resize(LARGEST)
    cluster.settle()
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert len(cluster.workers()) == 3
    cluster.fail(cluster.launcher().name, code=137)
    cluster.settle()
    assert len(cluster.workers()) == 3
    assert cluster.launcher().ready


def test_the_limit_is_the_operators() -> None:
    cluster = Cluster(an_mpijob("v1", workers=5), Settings(max_workers=4))
    cluster.settle()
    assert cluster.pods == {}
    cluster.settings = Settings(max_workers=5)
    cluster.settle()
    assert len(cluster.workers()) == 5


def pod_actions(cluster: Cluster) -> int:
    found = cluster.reconcile().actions
    return sum(
        (isinstance(each, Create) and each.manifest["kind"] == "Pod")
        or (isinstance(each, Delete) and each.key.kind == "Pod")
        for each in found
    )


def test_one_plan_creates_and_deletes_a_limited_number_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_PODS", 4)
    cluster = Cluster(an_mpijob("v1", workers=10))
    assert [pod_actions(cluster) for _ in range(4)] == [4, 4, 3, 0]  # the launcher is one of them
    assert cluster.conditions["Created"] == "True"
    cluster.settle()
    assert cluster.conditions["Running"] == "True"
    cluster.policy(suspend=True)
    counts = [pod_actions(cluster) for _ in range(4)]
    assert counts == [4, 4, 3, 0]
    cluster.settle()
    assert cluster.pods == {}
    assert cluster.conditions["Suspended"] == "True"


def test_many_names_are_not_all_told() -> None:
    cluster = Cluster(an_mpijob("v1", workers=40))
    cluster.reconcile()
    cluster.resize(1)
    cluster.reconcile()
    (told,) = (event for event in cluster.events if event.reason == "ScalingIn")
    assert "40 → 1 workers: pi-worker-39, pi-worker-38" in told.message
    assert "and 29 more" in told.message


def test_roles_that_are_no_workers_have_the_same_limit() -> None:
    cluster = tensorflow({"PS": LARGEST, "Worker": 1}, restart="OnFailure")
    cluster.settle()
    assert (cluster.pods, cluster.objects) == ({}, {})
    assert cluster.status.explanation.startswith(f"{LARGEST} PS replicas are requested, at most 10000 are allowed")
    cluster.raw["spec"]["tfReplicaSpecs"]["PS"]["replicas"] = 2
    cluster.settle()
    assert (len(cluster.pods), cluster.conditions["TooManyWorkers"]) == (3, "False")
