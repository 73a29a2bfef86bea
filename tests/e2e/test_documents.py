# SPDX-License-Identifier: Apache-2.0
"""The manifests of the users' documents, unchanged: created by `kubectl create -f`, and run to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e import environments
from tests.e2e.conftest import Start, a_namespace
from tests.e2e.jobs import Job
from tests.programs.clusters import OWN_USER
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

MANIFESTS = Path(__file__).parents[1] / "manifests" / "mpijobs"


@pytest.fixture(scope="module")
def prepared(clusters: Start) -> Cluster:
    cluster = clusters(OWN_USER)
    environments.make(cluster, environments.DOCUMENTS)
    return cluster


@pytest.fixture
def here(prepared: Cluster) -> Iterator[Cluster]:
    with a_namespace(prepared) as cluster:
        yield cluster


@pytest.mark.parametrize("file", ["tensorflow-mnist", "tensorflow-benchmarks", "tensorflow-benchmarks-vgpu"])
def test_runs_to_its_end(here: Cluster, file: str) -> None:
    created = here.kubectl("create", "-f", str(MANIFESTS / f"{file}.yaml"))
    job = Job(here, created.split()[0].rpartition("/")[2])
    job.until("Succeeded")
    logs = job.logs()
    for rank in range(2):
        assert f"rank {rank} of 2 on {job.name}-worker-{rank}" in logs
    here.until(lambda: not job.pods("Worker"), "running workers cleaned up")
    assert here.phase(f"{job.name}-launcher") == "Succeeded"
    if file.endswith("vgpu"):
        assert job.status["replicaStatuses"]["Launcher"]["succeeded"] == 1
