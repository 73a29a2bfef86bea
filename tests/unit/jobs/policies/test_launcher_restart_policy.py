# SPDX-License-Identifier: Apache-2.0
"""What becomes of a job whose launcher is deleted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.jobs.builders import running
from tests.unit.jobs.toy_with_launcher import a_toy_with_launcher

from springtide.api.kinds.replicas import RestartPolicy

NEVER = RestartPolicy.NEVER


@pytest.mark.parametrize("policy", [None, RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS])
@pytest.mark.parametrize("gone", [True, False], ids=["gone", "terminating"])
def test_it_is_created_again_under_every_other_policy(policy: RestartPolicy | None, gone: bool) -> None:
    cluster = running(a_toy_with_launcher(launcher_restarts=policy))
    cluster.vanish("pi-launcher") if gone else cluster.terminate("pi-launcher")
    cluster.settle()
    assert cluster.launcher().phase == "Running"
    assert len(cluster.listed()) == 3


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "terminating"])
def test_with_never_the_job_fails_and_says_so(gone: bool) -> None:
    cluster = running(a_toy_with_launcher(launcher_restarts=NEVER))
    cluster.vanish("pi-launcher") if gone else cluster.terminate("pi-launcher")
    cluster.settle()
    failed = cluster.status.conditions[-1]
    assert (failed.type, failed.reason) == ("Failed", "MPIJobFailed")
    assert failed.message == (
        "MPIJob ns/pi has failed: launcher pi-launcher was deleted and is not created again "
        "(launcher.restartPolicy Never)"
    )
    assert cluster.status.completion_time is not None


def test_with_never_the_job_is_started_again_where_it_may_be() -> None:
    cluster = running(a_toy_with_launcher(launcher_restarts=NEVER, retries=1))
    cluster.vanish("pi-launcher")
    cluster.settle()
    assert cluster.launcher().phase == "Running"
    assert cluster.status.restarts["Launcher"] == 1
    cluster.vanish("pi-launcher")
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"


@pytest.mark.parametrize(
    "fields",
    [
        {"terminating": True, "disruption": "EvictionByEvictionAPI"},
        {"terminating": True, "disruption": "DeletionByTaintManager"},
        {"reason": "NodeLost"},
    ],
    ids=["drained", "evicted by a taint", "lost with its node"],
)
def test_with_never_a_launcher_that_its_node_took_is_created_again(fields: dict[str, Any]) -> None:
    cluster = running(a_toy_with_launcher(launcher_restarts=NEVER))
    cluster.change("pi-launcher", **fields)
    cluster.reconcile()
    cluster.settle(400)
    assert cluster.launcher().phase == "Running"


def test_a_launcher_that_was_never_served_is_created_again() -> None:
    cluster = a_toy_with_launcher(launcher_restarts=NEVER, waits_for_workers=False)
    cluster.reconcile()
    cluster.vanish("pi-launcher")
    cluster.settle()
    assert cluster.launcher().phase == "Running"


def test_a_suspended_job_has_not_lost_its_launcher() -> None:
    cluster = running(a_toy_with_launcher(launcher_restarts=NEVER))
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.policy(suspend=False)
    cluster.settle()
    assert not cluster.finished
    assert cluster.launcher().phase == "Running"
