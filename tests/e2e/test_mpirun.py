# SPDX-License-Identifier: Apache-2.0
"""`mpirun` over four workers: through the API server and over SSH, every MPI, as root and as an ordinary user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e import environments
from tests.e2e.conftest import Start, a_namespace
from tests.e2e.jobs import MPICH, OPEN_MPI_4, OPEN_MPI_5, V1, V2, mpijob, submitted
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(300)

PROGRAM = ["python", "/programs/sum.py", "3"]
OLD = ["mpirun", "--allow-run-as-root", "-np", "4", "-bind-to", "none", "-map-by", "slot", *PROGRAM]
NEW = ["mpirun", "--allow-run-as-root", "-np", "4", "--bind-to", "none", "--map-by", "slot", *PROGRAM]
HYDRA = ["mpiexec", "-n", "4", *PROGRAM]


def of_mpiuser(manifest: Obj) -> Obj:
    """As the MPI operator's examples have it: keys and sshd's settings in the home of the image's own user."""
    manifest["spec"]["sshAuthMountPath"] = "/home/mpiuser/.ssh"
    for role in manifest["spec"]["mpiReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["securityContext"] = {"runAsUser": 1000}
    worker = manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    worker |= {"command": ["/usr/sbin/sshd"], "args": ["-De", "-f", "/home/mpiuser/.sshd_config"]}
    return manifest


JOBS: dict[str, Obj] = {
    "Open MPI 4 through the API server": mpijob("sums", OLD, version=V1, workers=4, image=OPEN_MPI_4),
    "Open MPI 5 through the API server": mpijob("sums", NEW, version=V1, workers=4, image=OPEN_MPI_5),
    "Open MPI 4 over SSH": mpijob("sums", OLD, version=V2, workers=4, image=OPEN_MPI_4),
    "Open MPI 5 over SSH": mpijob("sums", NEW, version=V2, workers=4, image=OPEN_MPI_5),
    "MPICH over SSH": mpijob("sums", HYDRA, version=V2, workers=4, image=MPICH, mpiImplementation="MPICH"),
    "Open MPI 4 as the image's user": of_mpiuser(mpijob("sums", OLD, version=V2, workers=4, image=OPEN_MPI_4)),
    "MPICH as the image's user": of_mpiuser(
        mpijob("sums", HYDRA, version=V2, workers=4, image=MPICH, mpiImplementation="MPICH")
    ),
    "keys at a path of their own": mpijob("sums", OLD, version=V2, workers=4, sshAuthMountPath="/keys"),
    "two slots a worker": mpijob("sums", OLD, version=V1, workers=2, slotsPerWorker=2),
}


@pytest.fixture(scope="module")
def prepared(clusters: Start, user: str) -> Cluster:
    cluster = clusters(user)
    environments.make(cluster, environments.MPI)
    return cluster


@pytest.fixture
def here(prepared: Cluster) -> Iterator[Cluster]:
    with a_namespace(prepared) as cluster:
        yield cluster


OF_ANY_USER = frozenset({"Open MPI 5 through the API server", "Open MPI 5 over SSH", "two slots a worker"})
"""Beside Open MPI 4, whose ranks an ordinary user's cluster starts in the same ways."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.any_user] if case in OF_ANY_USER else []) for case in JOBS]
)
def test_ranks_on_all_workers_compute_together(here: Cluster, case: str) -> None:
    job = submitted(here, JOBS[case])
    job.until("Succeeded")
    workers, slots = int(JOBS[case]["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]), 4
    ranks = sorted(line for line in job.logs().splitlines() if line.startswith("rank"))
    assert ranks == [f"rank {rank} of 4 on sums-worker-{rank * workers // slots}" for rank in range(4)]


@pytest.mark.any_user
def test_open_mpi_5_does_not_know_the_options_of_4_and_the_user_is_told(here: Cluster) -> None:
    job = submitted(here, mpijob("sums", OLD, workers=4, image=OPEN_MPI_5))
    job.until("Failed")
    here.until(lambda: any("--bind-to" in message for message in job.messages("LauncherAdvice")), "advice")
