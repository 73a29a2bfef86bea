# SPDX-License-Identifier: Apache-2.0
"""A launcher that is not elastic keeps its workers until it ends; new sizes count from its next start."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.replicas import deferring

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
RIGID = "mpirun is not elastic"


def rigid(workers: int, version: str = "v1", **spec: Any) -> Cluster:
    return running(Cluster(an_mpijob(version, workers=workers, **spec)))


def names(*indices: int) -> list[str]:
    return [f"pi-worker-{index}" for index in indices]


@versions
def test_a_smaller_size_takes_no_worker_from_a_launcher_that_runs(version: str) -> None:
    cluster = rigid(3, version)
    hosts, files = cluster.listed(), cluster.file("hostfile")
    cluster.resize(2)
    cluster.settle()
    assert cluster.workers() == names(0, 1, 2)
    assert (cluster.listed(), cluster.file("hostfile")) == (hosts, files)
    assert (cluster.status.state, cluster.status.workers, cluster.status.replicas) == ("Running", "3/2", 3)
    said = f"3 workers train, 2 are requested: {RIGID}, so the new size counts from the launcher's next start"
    assert cluster.status.explanation == f"{said}."
    assert cluster.conditions["SizeDeferred"] == "True"
    assert [(event.type, event.message) for event in cluster.events] == [("Warning", said)]


def test_every_further_size_is_told() -> None:
    cluster = rigid(3)
    for size in (2, 1, 1):
        cluster.resize(size)
        cluster.settle()
    assert reasons(cluster) == ["LauncherNotElastic"] * 2
    assert next(each for each in cluster.status.conditions if each.type == "SizeDeferred").message.startswith(
        "3 workers train, 1 is requested"
    )


@versions
def test_a_larger_size_does_not_pretend_that_all_train(version: str) -> None:
    cluster = rigid(2, version)
    cluster.resize(3)
    cluster.settle()
    assert cluster.workers() == names(0, 1, 2)
    assert (cluster.status.state, cluster.status.workers) == ("Running", "2/3")
    said = f"2 of 3 workers train; the third counts from the launcher's next start: {RIGID}"
    assert cluster.status.explanation == f"{said}."
    assert [event.reason for event in cluster.events] == ["ScalingOut", "LauncherNotElastic"]
    assert "count from its next start" in cluster.events[0].message


def test_workers_that_never_served_go_at_once() -> None:
    cluster = rigid(2)
    cluster.resize(4)
    cluster.settle()
    cluster.resize(1)
    cluster.settle()
    assert cluster.workers() == names(0, 1)
    assert cluster.status.workers == "2/1"
    cluster.resize(2)
    cluster.settle()
    assert cluster.conditions["SizeDeferred"] == "False"
    assert (cluster.status.workers, cluster.status.explanation) == ("2/2", "The job runs with 2 workers.")


@pytest.mark.parametrize("size", [1, 4])
@versions
def test_the_next_start_has_the_new_size(version: str, size: int) -> None:
    cluster = rigid(2, version, runPolicy={"backoffLimit": 3})
    cluster.resize(size)
    cluster.settle()
    cluster.fail(cluster.launcher().name)
    cluster.settle(300)
    assert cluster.status.workers == f"{size}/{size}"
    assert cluster.conditions["SizeDeferred"] == "False"


@versions
def test_suspend_and_resume_apply_the_new_size(version: str) -> None:
    cluster = rigid(3, version)
    cluster.resize(2)
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.policy(suspend=False)
    cluster.settle()
    assert cluster.status.workers == "2/2"
    assert len(cluster.listed()) == 2


def test_a_launcher_that_has_its_hosts_and_is_about_to_start_keeps_them() -> None:
    cluster = Cluster(an_mpijob(workers=2))
    cluster.reconcile()
    cluster.ready(*names(0, 1))
    cluster.reconcile()
    assert cluster.launcher().phase == "Pending"
    cluster.resize(1)
    cluster.reconcile()
    assert len(cluster.listed()) == 2
    assert not [pod for pod in cluster.of("Worker") if pod.terminating]


def test_one_that_has_none_yet_is_given_the_new_size() -> None:
    cluster = Cluster(an_mpijob(workers=3))
    cluster.reconcile()
    cluster.resize(2)
    cluster.settle()
    assert cluster.status.workers == "2/2"


def test_a_ledger_of_an_earlier_release_is_read_so_that_nobody_is_taken_away() -> None:
    cluster = rigid(3)
    for body in cluster.objects.values():
        kept = body["metadata"].get("annotations", {})
        if "springtide.dev/ledger" in kept:
            kept["springtide.dev/ledger"] = kept["springtide.dev/ledger"].replace('"started_with"', '"unknown"')
    cluster.resize(1)
    cluster.settle()
    assert cluster.workers() == names(0, 1, 2)


def test_a_worker_in_place_of_a_lost_one_counts_from_the_next_start() -> None:
    cluster = rigid(2)
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert cluster.status.workers == "1/2"
    assert cluster.status.explanation.startswith("1 of 2 workers trains; the second counts from")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("mpirun", "pi"), "mpirun is not elastic"),
        (("horovodrun", "-np", "2", "pi"), "horovodrun is not elastic without --min-np or --host-discovery-script"),
        (("./train.sh",), "the launcher is not known to be elastic (spec.elasticPolicy declares that it is)"),
    ],
)
def test_why_is_said_with_the_way_out(command: tuple[str, ...], why: str) -> None:
    cluster = running(Cluster(an_mpijob(workers=2, command=command)))
    cluster.resize(1)
    cluster.settle()
    assert why in cluster.status.explanation


def test_a_program_that_is_declared_elastic_shrinks_at_once() -> None:
    cluster = running(Cluster(an_mpijob(workers=2, command=("./train.sh",))))
    cluster.resize(1)
    cluster.settle()
    assert cluster.status.workers == "2/1"
    cluster.raw["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 2}
    cluster.settle()
    assert cluster.status.workers == "1/1"


@pytest.mark.parametrize(
    ("used", "wanted", "said"),
    [
        (2, 2, ""),
        (1, 2, "1 of 2 workers trains; the second counts from the launcher's next start: x"),
        (2, 5, "2 of 5 workers train; the other 3 count from the launcher's next start: x"),
        (12, 13, "12 of 13 workers train; the last counts from the launcher's next start: x"),
        (1, 0, "1 worker trains, 0 are requested: x, so the new size counts from the launcher's next start"),
    ],
)
def test_numbers_and_their_words(used: int, wanted: int, said: str) -> None:
    assert deferring.difference("x", used, wanted) == said
