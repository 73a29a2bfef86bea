# SPDX-License-Identifier: Apache-2.0
"""Growing and shrinking, step by step."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.simulated import Cluster, Conflict

from springtide.jobs.actions import Create, Delete, Patch
from springtide.jobs.replicas.resizing import VICTIM
from springtide.jobs.reporting.progress import ANNOTATION as PROGRESS


def steps(cluster: Cluster) -> list[str]:
    """What a plan does, in order."""
    names = {Create: "create", Patch: "patch", Delete: "delete"}
    found = []
    for action in cluster.plan().actions:
        if isinstance(action, Create):
            found.append(f"create {action.manifest['kind']} {action.manifest['metadata']['name']}")
        elif isinstance(action, Patch | Delete):
            found.append(f"{names[type(action)]} {action.key.kind} {action.key.name}")
    return found


def test_growth_goes_pods_role_ready_list_nudge() -> None:
    cluster = running(elastic(2))
    cluster.resize(3)
    assert steps(cluster) == ["patch ConfigMap pi-config", "create Pod pi-worker-2"]
    cluster.reconcile()
    assert steps(cluster) == ["patch Role pi-launcher", "patch Pod pi-launcher"]
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    cluster.ready("pi-worker-2")
    assert steps(cluster) == ["patch ConfigMap pi-config"]
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]
    assert steps(cluster) == ["patch Pod pi-launcher"]


def test_a_nudge_is_repeated_once_after_two_seconds() -> None:
    cluster = running(elastic(2))
    cluster.resize(3)
    cluster.reconcile()
    cluster.ready("pi-worker-2")
    cluster.reconcile()
    cluster.reconcile()
    assert steps(cluster) == []
    cluster.now += timedelta(seconds=2)
    assert steps(cluster) == ["patch Pod pi-launcher"]
    cluster.reconcile()
    cluster.now += timedelta(seconds=2)
    assert steps(cluster) == []


def test_shrinking_goes_list_nudge_drain_role_pods() -> None:
    cluster = running(elastic(3))
    cluster.resize(2)
    assert steps(cluster) == ["patch ConfigMap pi-config"]
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    assert cluster.status.state == "Scaling in"
    assert steps(cluster) == ["patch Pod pi-launcher"]
    cluster.reconcile()
    cluster.now += timedelta(seconds=30)
    role, pod = "patch Role pi-launcher", "delete Pod pi-worker-2"
    assert [step for step in steps(cluster) if step in (role, pod)] == [role, pod]
    cluster.reconcile()
    cluster.tick()
    assert steps(cluster)[:1] == ["patch ConfigMap pi-config"]
    cluster.settle()
    assert reasons(cluster) == ["ScalingIn"]


def test_a_drain_ends_when_the_launcher_reports_the_host_unused() -> None:
    cluster = running(elastic(3))
    cluster.resize(2)
    cluster.reconcile()
    report = {"at": (cluster.now + timedelta(seconds=1)).isoformat(), "hosts": ["pi-worker-0", "pi-worker-1"]}
    cluster.change("pi-launcher", annotations={PROGRESS: msgspec.json.encode(report).decode()})
    assert "delete Pod pi-worker-2" in steps(cluster)


@pytest.mark.parametrize(
    "report",
    [
        {"at": "2020-01-01T00:00:00Z", "hosts": ["pi-worker-0"]},
        {"at": "2030-01-01T00:00:00Z", "hosts": ["pi-worker-2"]},
        {"hosts": []},
        {"at": "2030-01-01T00:00:00Z"},
        "nonsense",
    ],
    ids=["it is older than the list", "ranks run there", "it has no time", "it names no hosts", "it cannot be read"],
)
def test_a_drain_goes_on_when_of_the_report(report: object) -> None:
    cluster = running(elastic(3))
    cluster.resize(2)
    cluster.reconcile()
    cluster.change("pi-launcher", annotations={PROGRESS: msgspec.json.encode(report).decode()})
    assert "delete Pod pi-worker-2" not in steps(cluster)


def test_the_time_of_a_drain_can_be_set() -> None:
    cluster = running(elastic(3, annotations={"springtide.dev/drain-seconds": "5"}))
    cluster.resize(2)
    cluster.reconcile()
    cluster.now += timedelta(seconds=5)
    assert "delete Pod pi-worker-2" in steps(cluster)


@pytest.mark.parametrize("given", ["", "soon", "-3", "1.5", "٣"])
def test_a_time_that_is_no_number_is_not_said(given: str) -> None:
    cluster = running(elastic(3, annotations={"springtide.dev/drain-seconds": given}))
    cluster.resize(2)
    cluster.reconcile()
    cluster.now += timedelta(seconds=29)
    assert "delete Pod pi-worker-2" not in steps(cluster)
    cluster.now += timedelta(seconds=1)
    assert "delete Pod pi-worker-2" in steps(cluster)


@pytest.mark.parametrize("name", ["drain", "settle", "start"])
@pytest.mark.parametrize("given", ["9" * 15, "9" * 5000, "0" * 5000])
def test_a_time_that_no_calendar_holds_is_waited_for(name: str, given: str) -> None:
    cluster = running(elastic(3, annotations={f"springtide.dev/{name}-seconds": given}))
    cluster.resize(2)
    cluster.reconcile()
    assert len(cluster.listed()) == 2


def test_a_victim_that_was_never_listed_goes_at_once() -> None:
    cluster = running(elastic(2))
    cluster.resize(4)
    cluster.reconcile()
    cluster.resize(2)
    assert {"delete Pod pi-worker-2", "delete Pod pi-worker-3"} <= set(steps(cluster))


@pytest.mark.parametrize("size", [1, 3])
def test_a_plan_made_from_a_stale_view_is_refused_before_it_does_anything(size: int) -> None:
    cluster = running(elastic(2))
    cluster.resize(size)
    stale = cluster.plan()
    cluster.resize(4)
    cluster.reconcile()
    before = (dict(cluster.pods), cluster.listed())
    with pytest.raises(Conflict):
        cluster.act(stale.actions)
    assert (dict(cluster.pods), cluster.listed()) == before


def victim(cluster: Cluster) -> set[str]:
    before = set(cluster.listed())
    cluster.resize(2)
    cluster.reconcile()
    return before - set(cluster.listed())


def test_the_victim_is_the_highest_index() -> None:
    assert victim(running(elastic(3))) == {"pi-worker-2"}


def test_the_victim_is_on_the_node_that_goes_away() -> None:
    cluster = running(elastic(3))
    cluster.change("pi-worker-1", node="spot")
    cluster.leaving = frozenset({"spot"})
    assert victim(cluster) == {"pi-worker-1"}


def test_the_victim_is_the_one_pointed_at_before_any_other() -> None:
    cluster = running(elastic(3))
    cluster.change("pi-worker-1", node="spot")
    cluster.change("pi-worker-0", annotations={VICTIM: "true"})
    cluster.leaving = frozenset({"spot"})
    assert victim(cluster) == {"pi-worker-0"}


def test_a_job_that_grows_again_takes_fresh_names() -> None:
    cluster = running(elastic(3))
    cluster.resize(2)
    cluster.settle()
    cluster.resize(3)
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1", "pi-worker-3"]


def test_a_size_beyond_the_bounds_runs_the_nearest_and_a_condition_says_so() -> None:
    cluster = running(elastic(2))
    cluster.resize(9)
    cluster.settle()
    assert len(cluster.listed()) == 4
    assert cluster.conditions["SizeOutOfBounds"] == "True"
    cluster.resize(3)
    cluster.settle()
    assert cluster.conditions["SizeOutOfBounds"] == "False"


def test_an_unready_worker_leaves_the_list_and_comes_back() -> None:
    cluster = running(elastic(3))
    cluster.change("pi-worker-1", ready=False)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]
    cluster.change("pi-worker-1", ready=True)
    cluster.reconcile()
    assert len(cluster.listed()) == 3
