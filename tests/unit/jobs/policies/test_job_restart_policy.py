# SPDX-License-Identifier: Apache-2.0
"""How a job ends, or starts again, with the failures of its launcher."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import running
from tests.unit.jobs.toy_with_launcher import a_toy_with_launcher


@pytest.mark.parametrize(("reason", "told"), [("", "MPIJobFailed"), ("OOM", "OOM"), ("Evicted", "MPIJobEvicted")])
def test_the_launchers_reason_is_the_jobs(reason: str, told: str) -> None:
    cluster = running(a_toy_with_launcher(evictions_count=True))
    cluster.fail("pi-launcher", reason=reason)
    cluster.settle()
    assert cluster.status.conditions[-1].reason == told
    assert cluster.conditions == {"Created": "True", "Running": "False", "Failed": "True"}


def test_an_evicted_launcher_counts_against_the_limit() -> None:
    cluster = running(a_toy_with_launcher(evictions_count=True, retries=1))
    cluster.fail("pi-launcher", reason="Evicted")
    cluster.settle()
    assert cluster.snapshot.ledger.retries == 1
    cluster.fail("pi-launcher", reason="Evicted")
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"


def test_elsewhere_an_eviction_is_no_failure_of_the_program() -> None:
    cluster = running(a_toy_with_launcher())
    cluster.fail("pi-launcher", reason="Evicted")
    cluster.settle()
    assert not cluster.finished
    assert cluster.snapshot.ledger.retries == 0


def test_a_job_is_started_again_up_to_its_limit_with_new_workers() -> None:
    cluster = running(a_toy_with_launcher(retries=2))
    for times in (1, 2):
        cluster.fail("pi-launcher")
        cluster.settle()
        assert cluster.snapshot.ledger.restarts == times
        assert cluster.workers() == cluster.listed() == [f"pi-worker-{3 * times + each}" for each in range(3)]
    cluster.fail("pi-launcher")
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"
