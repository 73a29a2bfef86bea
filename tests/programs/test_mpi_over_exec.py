# SPDX-License-Identifier: Apache-2.0
"""`mpirun` starts its daemons in other pods with `kubectl exec`, the way MPIJobs of the first version run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.programs import mpi
from tests.programs.conftest import Start
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

BUILT_IN = "/run/springtide/bin/kubectl"
STOCK = "/opt/kube/kubectl"


@pytest.fixture(scope="module")
def cluster(user: str, started: Start, packages: Path) -> Cluster:
    cluster = started(user=user)
    mpi.make_environment(cluster, packages)
    cluster.config_map("mpi", "hostfile", "kubexec.sh", "allreduce.py")
    cluster.apply("mpi-exec.yaml")
    for index in range(3):
        cluster.apply("mpi-exec-worker.yaml", INDEX=str(index))
    cluster.until_ready("app=worker", 3)
    return cluster


@pytest.fixture(autouse=True)
def _no_launcher(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.kubectl("delete", "pod", "launcher", "--ignore-not-found")


def launch(cluster: Cluster, kubectl: str, steps: int) -> None:
    cluster.apply("mpi-exec-launcher.yaml", KUBECTL=kubectl, TOOLS=str(cluster.tools), STEPS=str(steps))


@pytest.mark.parametrize("kubectl", [BUILT_IN, STOCK])
def test_three_pods_compute_together(cluster: Cluster, kubectl: str) -> None:
    launch(cluster, kubectl, 5)
    cluster.until_succeeded("launcher")
    mpi.check(cluster.logs("launcher"), 5)


def test_a_run_does_not_notice_that_server_and_agent_are_killed(cluster: Cluster) -> None:
    launch(cluster, BUILT_IN, mpi.LONG)
    mpi.wait_for_the_middle(cluster)
    cluster.kill_server_and_agents()
    cluster.until_succeeded("launcher")
    mpi.check(cluster.logs("launcher"), mpi.LONG)
    assert cluster.get("pod", "launcher")["status"]["containerStatuses"][0]["restartCount"] == 0
