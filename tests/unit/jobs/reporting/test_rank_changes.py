# SPDX-License-Identifier: Apache-2.0
"""Ranks that come and go are events of the job, once each; and who does not train is not counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.reporting.test_training_progress import report
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Event

BEGAN = {"number": 1, "what": "began", "size": 2, "hosts": ["pi-worker-0", "pi-worker-1"], "count": 2}
KILLED = "was killed by SIGKILL"
LOST = {"number": 2, "what": "lost", "size": 1, "hosts": ["pi-worker-1"], "count": 1, "rank": 1, "why": KILLED}
JOINED = {"number": 3, "what": "joined", "size": 2, "hosts": ["pi-worker-2.pi"], "count": 1, "rank": 1}


@pytest.fixture
def cluster() -> Cluster:
    return running(elastic(2))


def told(cluster: Cluster, *changes: Any, **words: Any) -> list[Event]:
    cluster.events.clear()
    report(cluster, changes=list(changes), **({"size": 2, "training_hosts": 2} | words))
    cluster.reconcile()
    return [event for event in cluster.events if event.reason.startswith(("Rank", "Training"))]


def test_a_rank_that_dies_and_the_one_in_its_place(cluster: Cluster) -> None:
    assert told(cluster, BEGAN) == [Event("Normal", "TrainingStarted", "2 ranks train on pi-worker-0, pi-worker-1.")]
    assert told(cluster, BEGAN, LOST, size=1) == [
        Event("Warning", "RankLost", "Rank 1 on pi-worker-1 was killed by SIGKILL; 1 rank continues training.")
    ]
    assert told(cluster, BEGAN, LOST, JOINED) == [
        Event("Normal", "RankJoined", "A rank on pi-worker-2 joined as rank 1; 2 ranks train.")
    ]


def test_a_rank_that_a_suspension_ends_is_not_lost(cluster: Cluster) -> None:
    told(cluster, BEGAN)
    cluster.policy(suspend=True)
    assert told(cluster, BEGAN, LOST, size=1) == []


def test_each_is_told_once_also_by_another_operator(cluster: Cluster) -> None:
    assert len(told(cluster, BEGAN, LOST)) == 2
    assert told(cluster, BEGAN, LOST) == []
    cluster.now += timedelta(minutes=1)
    assert told(cluster, BEGAN, LOST, step=7) == []
    assert cluster.status.progress is not None
    assert cluster.status.progress.last_change == 2
    assert told(cluster, LOST, step=8, size=1) == []


def test_a_change_is_told_at_once_however_soon_after_the_last_step(cluster: Cluster) -> None:
    told(cluster, step=1)
    assert reasons_of(told(cluster, BEGAN, step=2)) == ["TrainingStarted"]


def test_a_new_launcher_counts_anew(cluster: Cluster) -> None:
    cluster.policy(backoffLimit=3)
    told(cluster, BEGAN, LOST)
    cluster.fail("pi-launcher")
    cluster.settle()
    assert reasons_of(told(cluster, BEGAN)) == ["TrainingStarted"]


def test_many_at_once_are_one_event(cluster: Cluster) -> None:
    hosts = [f"pi-worker-{index}" for index in range(3)]
    joined = {"number": 1, "what": "joined", "size": 100, "hosts": hosts, "count": 98}
    left = {"number": 2, "what": "left", "size": 1, "hosts": ["pi-worker-1"], "count": 1}
    assert [event.message for event in told(cluster, joined, left)] == [
        "98 ranks on pi-worker-0, pi-worker-1, pi-worker-2 and others joined; 100 ranks train.",
        "A rank left pi-worker-1; 1 rank trains.",
    ]


def test_one_that_never_joined_has_no_number(cluster: Cluster) -> None:
    change = {**LOST, "size": 0, "why": "could not be started: no route"}
    del change["rank"]
    assert [event.message for event in told(cluster, change)] == [
        "A rank on pi-worker-1 could not be started: no route; no rank trains."
    ]


@pytest.mark.parametrize(
    "changes",
    [
        "none",
        [None, 7, {}, {"number": "x"}, {"number": 0}, {"number": 1 << 60}],
        [{"number": 1, "what": "of-tomorrow"}],
    ],
)
def test_what_cannot_be_read_is_not_told_and_the_rest_is(cluster: Cluster, changes: Any) -> None:
    report(cluster, size=1, step=3, training_hosts=1, changes=changes, idle=[{"host": 5}, "x"])
    cluster.reconcile()
    assert not [reason for reason in reasons(cluster) if reason.startswith("Rank")]
    assert cluster.status.progress is not None
    assert (cluster.status.progress.step, cluster.status.workers) == (3, "1/2")


def test_however_much_is_reported_little_is_told(cluster: Cluster) -> None:
    many = [{**LOST, "number": number, "rank": number} for number in range(1, 1000)]
    many[-2] |= {"why": "x" * 9000, "hosts": ["h" * 9000]}
    events = told(cluster, *many)
    assert [event.message.split()[1] for event in events] == [str(number) for number in range(990, 1000)]
    assert all(len(event.message) < 400 for event in events)


def reasons_of(events: list[Event]) -> list[str]:
    return [event.reason for event in events]


# Who trains


def seen(cluster: Cluster) -> tuple[str, str, str]:
    cluster.reconcile()
    return cluster.status.state, cluster.status.workers, cluster.status.explanation


def test_a_worker_without_a_rank_that_trains_is_not_counted(cluster: Cluster) -> None:
    until = (cluster.now + timedelta(seconds=10)).isoformat()
    idle = [{"host": "pi-worker-1", "why": "is in back-off after a failure", "until": until}]
    report(cluster, size=1, training_hosts=1, idle=idle)
    at = (cluster.now + timedelta(seconds=10)).strftime("%H:%M:%S")
    assert seen(cluster) == (
        "Running",
        "1/2",
        f"1 of 2 workers trains; pi-worker-1 is in back-off after a failure until {at} UTC.",
    )
    report(cluster, size=2, training_hosts=2)
    assert seen(cluster) == ("Running", "2/2", "The job runs with 2 workers.")


def test_one_that_joins_is_part_of_scaling_out(cluster: Cluster) -> None:
    report(cluster, size=2, training_hosts=2)
    cluster.resize(3)
    cluster.settle()
    assert seen(cluster) == ("Scaling out", "2/3", "2 of 3 workers train; the others are joining.")
    report(cluster, size=3, training_hosts=3)
    assert seen(cluster) == ("Running", "3/3", "The job runs with 3 workers.")


def test_a_quorum_that_is_missed_is_told(cluster: Cluster) -> None:
    report(cluster, size=1, training_hosts=0, idle=[{"why": "1 of 2 required ranks has joined"}])
    assert seen(cluster) == ("Running", "0/2", "0 of 2 workers train; 1 of 2 required ranks has joined.")


def test_a_launcher_of_an_earlier_release_does_not_say_who_trains(cluster: Cluster) -> None:
    report(cluster, size=1, hosts=["pi-worker-0", "pi-worker-1"])
    assert seen(cluster) == ("Running", "2/2", "The job runs with 2 workers.")
