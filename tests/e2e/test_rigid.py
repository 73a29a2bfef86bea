# SPDX-License-Identifier: Apache-2.0
"""A plain `mpirun` keeps the workers it was started with, whatever size is asked for meanwhile."""

from __future__ import annotations

import pytest
from tests.e2e import environments
from tests.e2e.conftest import Start
from tests.e2e.jobs import V1, V2, mpijob, submitted
from tests.programs.clusters import OWN_USER
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

SUMS = ["mpirun", "--allow-run-as-root", "-np", "3", "--bind-to", "none", "python", "/programs/sum.py", "150"]
WARNING = "Warning: mpirun is not elastic: its run continues unchanged and 2 workers count from its next start"


@pytest.fixture(scope="module", autouse=True)
def prepared(clusters: Start) -> None:
    environments.make(clusters(OWN_USER), environments.MPI[:1])


@pytest.mark.parametrize("version", [V1, V2])
def test_a_run_survives_that_its_job_is_made_smaller(space: Cluster, version: str) -> None:
    job = submitted(space, mpijob("sums", SUMS, version=version, workers=3))
    job.until("Running")
    space.until(lambda: job.said("step 3"), "it computes")
    done = space.kubectl.run("scale", "mpijob", job.name, "--replicas=2")
    assert "scaled" in done.stdout
    assert WARNING in done.stderr
    job.until("SizeDeferred")
    assert job.status["state"] == "Running"
    assert job.status["workers"] == "3/2"
    assert job.status["explanation"].startswith("3 workers train, 2 are requested: mpirun is not elastic")
    job.until("Succeeded")
    ranks = sorted(line for line in job.logs().splitlines() if line.startswith("rank"))
    assert ranks == [f"rank {rank} of 3 on sums-worker-{rank}" for rank in range(3)]


def test_more_processes_than_slots_are_told_what_to_do(space: Cluster) -> None:
    job = submitted(space, mpijob("sums", SUMS, workers=2, runPolicy={"backoffLimit": 0}))
    job.until("Failed")
    space.until(lambda: any("ask for more workers" in said for said in job.messages("LauncherAdvice")), "advice")
