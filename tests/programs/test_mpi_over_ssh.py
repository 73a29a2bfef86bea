# SPDX-License-Identifier: Apache-2.0
"""`mpirun` starts its daemons in other pods by ssh, all of whose sshd listen on 2222, the way later MPIJobs run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.programs import mpi
from tests.programs.conftest import Start
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster(user: str, started: Start, packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    assert Path("/usr/sbin/sshd").exists(), "sshd is missing: apt-get install openssh-server"
    cluster = started(user=user)
    mpi.make_environment(cluster, packages)
    cluster.config_map("mpi", "hostfile-ssh", "allreduce.py")
    make_key(cluster, tmp_path_factory.mktemp("ssh") / "key")
    cluster.apply("mpi-ssh.yaml")
    for index in range(3):
        cluster.apply("mpi-ssh-worker.yaml", INDEX=str(index))
    cluster.until_ready("app=worker", 3)
    return cluster


@pytest.fixture(autouse=True)
def _no_launcher(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.kubectl("delete", "pod", "launcher", "--ignore-not-found")


def make_key(cluster: Cluster, file: Path) -> None:
    program = shutil.which("ssh-keygen")
    assert program, "ssh-keygen is missing: apt-get install openssh-client"
    subprocess.run([program, "-q", "-t", "ecdsa", "-N", "", "-f", file], check=True)
    keys = [f"--from-file=ssh-privatekey={file}", f"--from-file=ssh-publickey={file}.pub"]
    cluster.kubectl("create", "secret", "generic", "ssh", "--type=kubernetes.io/ssh-auth", *keys)


def test_three_pods_compute_together(cluster: Cluster) -> None:
    cluster.apply("mpi-ssh-launcher.yaml", STEPS="5")
    cluster.until_succeeded("launcher")
    mpi.check(cluster.logs("launcher"), 5)


def test_a_run_does_not_notice_that_all_but_its_pods_is_killed(cluster: Cluster) -> None:
    cluster.apply("mpi-ssh-launcher.yaml", STEPS=str(mpi.LONG))
    mpi.wait_for_the_middle(cluster)
    cluster.kill_holder()
    cluster.kill_server_and_agents()
    cluster.until_succeeded("launcher")
    mpi.check(cluster.logs("launcher"), mpi.LONG)


def test_a_shell_over_ssh_finds_what_the_environment_has(cluster: Cluster) -> None:
    ssh = ["ssh", "-p", "2222", "-o", "StrictHostKeyChecking=no", "worker-1.ring"]
    found = cluster.kubectl("exec", "worker-0", "--", *ssh, "hostname; pwd; command -v mpirun")
    hostname, home, mpirun = found.splitlines()
    assert (hostname, home) == ("worker-1", "/root")
    assert mpirun == cluster.kubectl("exec", "worker-0", "--", "sh", "-c", "command -v mpirun").strip()
    assert "/environments/mpi/" in mpirun
