# SPDX-License-Identifier: Apache-2.0
"""The users' main document: an elastic job is created, resized while it trains in every way there is, and finishes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.horovod import training
from tests.e2e.jobs import V2
from tests.integration.supervisor.conftest import kill
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(600)

EDITOR = "sed -i -z 's/\\(Worker:\\n *replicas: \\)1/\\12/'"
"""One worker becomes two."""


def test_the_documents_job_runs_to_its_end(here: Cluster) -> None:
    here.kubectl("create", "-f", str(training.MANIFEST))
    job = training.Training(here, training.NAME)
    job.until("Succeeded")
    steps = job.steps()
    assert {step.size for step in steps} == {2}
    training.check(steps)
    here.until(lambda: not job.pods("Worker"), "running workers cleaned up")


def test_a_job_is_resized_while_it_trains(here: Cluster, tmp_path: Path) -> None:
    job = training.endless(here, tmp_path / "batches")
    job.until_size(2)
    job.resize(3)
    kill(here.place.operator_process())  # another one finishes what it has begun
    job.until_size(3)
    here.kubectl("scale", "mpijob", job.name, "--replicas=1")
    job.until_size(1)
    here.kubectl("edit", "mpijob", job.name, EDITOR=EDITOR)
    job.until_size(2)
    job.finish()
    training.check(job.steps())
    assert "lacklist" not in job.log()
    first = {f"{job.name}-worker-{index}" for index in range(3)}
    assert job.hosts() == {*first, f"{job.name}-worker-3"}


@pytest.mark.parametrize("version", [V2], ids=["over SSH"])
def test_a_job_goes_on_when_a_worker_dies(here: Cluster, tmp_path: Path, version: str) -> None:
    job = training.endless(here, tmp_path / "batches", version)
    job.until_size(2)
    here.kubectl("delete", "pod", f"{job.name}-worker-1", "--grace-period=0", "--force")
    here.until(lambda: f"{job.name}-worker-2" in job.hosts(), "ranks on the worker that replaces it", job.patience)
    job.until_size(2)
    job.finish()
    training.check(training.committed(job.steps()))
