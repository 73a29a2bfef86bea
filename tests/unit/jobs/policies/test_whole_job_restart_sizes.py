# SPDX-License-Identifier: Apache-2.0
"""`springtide.dev/restart: whole-job`: what is written down before the pods of the next run are created."""

from __future__ import annotations

import json

import pytest
from tests.unit.jobs.builders import pytorch
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Create, Patch, Plan
from springtide.jobs.policies.whole_job_restart import MOST, asked

SIZES = {"Master": 1, "Worker": 2}


def a_job() -> Cluster:
    cluster = pytorch(dict(SIZES), {"springtide.dev/restart": "whole-job"}, runPolicy={"backoffLimit": 2})
    cluster.settle()
    return cluster


def ledger(plan: Plan) -> dict[str, object]:
    """As the plan writes it."""
    patch = next(each for each in plan.actions if isinstance(each, Patch) and each.key.kind == "ConfigMap")
    found: dict[str, object] = json.loads(patch.body["metadata"]["annotations"]["springtide.dev/ledger"])
    return found


def created(plan: Plan) -> list[str]:
    pods = (each.manifest for each in plan.actions if isinstance(each, Create) and each.manifest["kind"] == "Pod")
    return [pod["metadata"]["name"] for pod in pods]


def test_nothing_is_created_before_the_last_pod_of_the_run_before_is_gone() -> None:
    cluster = a_job()
    cluster.vanish(sorted(cluster.pods)[-1])
    plan = cluster.reconcile()
    assert ledger(plan)["sizes"] == SIZES
    assert created(plan) == []
    cluster.settle()
    assert len(cluster.pods) == 3


@pytest.mark.parametrize("workers", [1, 3])
def test_the_size_is_written_down_before_pods_are_created_even_if_all_are_gone_at_once(workers: int) -> None:
    """Otherwise a change of the size a moment later would count, though these pods know another one."""
    cluster = a_job()
    cluster.resize(workers)
    for name in tuple(cluster.pods):
        cluster.vanish(name)
    plan = cluster.reconcile()
    assert len(created(plan)) == 1 + workers
    assert ledger(plan)["sizes"] == {"Master": 1, "Worker": workers}


@pytest.mark.parametrize(("workers", "whole"), [(MOST - 1, True), (MOST, False)])
def test_a_job_whose_pods_the_ledger_cannot_name_is_not_restarted_as_a_whole(workers: int, whole: bool) -> None:
    cluster = pytorch({"Master": 1, "Worker": workers}, {"springtide.dev/restart": "whole-job"})
    assert asked(cluster.observe().job) is whole
