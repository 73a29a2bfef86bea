# SPDX-License-Identifier: Apache-2.0
"""Which workers are members, and what is said while objects of an earlier job of the same name are in the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.unit.jobs.builders import a_toy, elastic_training, running

from springtide.jobs import host_list

NOW = datetime(2026, 11, 16, 6, tzinfo=UTC)
WAITS = "The job waits until objects of an earlier MPIJob of the same name are deleted: "


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({"ConfigMap pi-config": None}, "ConfigMap pi-config"),
        (
            {"Pod pi-worker-0": NOW + timedelta(seconds=30), "Pod pi-worker-1": NOW + timedelta(seconds=20)},
            "Pod pi-worker-0, Pod pi-worker-1; their grace periods end by 06:00:30 UTC",
        ),
        ({"Pod pi-worker-0": NOW - timedelta(seconds=1)}, "Pod pi-worker-0"),
        ({f"Pod {number}": None for number in range(7)}, "Pod 0, Pod 1, Pod 2, Pod 3, Pod 4 and 2 more"),
    ],
)
def test_it_is_named_and_how_long_it_may_take(left: dict[str, datetime | None], said: str) -> None:
    assert host_list.remains("MPIJob", left, NOW) == WAITS + said


def test_workers_are_members_until_their_pods_are_gone() -> None:
    cluster = running(elastic_training(2))
    cluster.resize(1)
    cluster.reconcile()
    seen = cluster.snapshot
    assert (seen.ledger.members, set(seen.workers)) == ((0,), {0, 1})
    assert [each.name for each in host_list.hosts(seen).members] == ["train-worker-0", "train-worker-1"]


def test_workers_are_members_before_they_have_a_pod() -> None:
    cluster = running(elastic_training(1))
    seen = cluster.snapshot
    seen = seen.with_ledger(replace(seen.ledger, members=(0, 5)))
    assert [(each.index, each.name) for each in host_list.hosts(seen).members] == [
        (0, "train-worker-0"),
        (5, "train-worker-5"),
    ]


def test_workers_that_keep_their_names_are_listed_elsewhere() -> None:
    hosts = host_list.hosts(running(a_toy(2)).snapshot)
    assert (len(hosts.fixed), hosts.members) == (3, ())
