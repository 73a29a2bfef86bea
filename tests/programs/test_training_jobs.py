# SPDX-License-Identifier: Apache-2.0
"""Launchers of TrainingJobs reach all their workers without an option: over SSH and through the API server, as root and
as another user, with keys of the job and with others' keys."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.programs import clusters
from tests.programs.conftest import Start
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

ASK = "id -u; hostname"
OVER_SSH = f"for host in $(cut -d: -f1 /etc/edl/hostfile); do ssh $host '{ASK}' || exit 1; done"
OVER_EXEC = (
    f"for host in $(/etc/edl/discover_hosts.sh | cut -d: -f1); do /etc/mpi/kubexec.sh $host '{ASK}' || exit 1; done"
)
FOLLOWS = "until grep -q worker-2 /job/hostfile; do sleep 0.1; done; cat /job/hostfile; ssh live-worker-2 hostname"


@pytest.fixture(scope="module")
def cluster(user: str, started: Start, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    assert Path("/usr/sbin/sshd").exists(), "sshd is missing: apt-get install openssh-server"
    cluster = started(user=user)
    make_secret(cluster, "given", tmp_path_factory.mktemp("keys"))
    return cluster


def make_secret(cluster: Cluster, name: str, folder: Path) -> None:
    """As Arena makes it, before the job."""
    program = shutil.which("ssh-keygen")
    assert program, "ssh-keygen is missing: apt-get install openssh-client"
    subprocess.run([program, "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", folder / "key"], check=True)
    (folder / "config").write_text("StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n")
    files = (("config", "config"), ("id_rsa", "key"), ("id_rsa.pub", "key.pub"))
    arguments = [f"--from-file={key}={folder / file}" for key, file in files]
    cluster.kubectl("create", "secret", "generic", name, *arguments)


@pytest.mark.parametrize(
    ("name", "attach", "uid", "annotations"),
    [
        ("root", "ssh", 0, ""),
        ("other", "ssh", 1000, ""),
        ("given", "ssh", 0, ""),
        ("named", "ssh", 1000, "arena.kubeflow.org/ssh-secret: given"),
        ("exec", "kubexec", 1000, ""),
    ],
    ids=[
        "over ssh as root",
        "over ssh as another user",
        "with a Secret that was there before",
        "with a Secret that the job names, as another user",
        "through the API server as another user",
    ],
)
def test_a_launcher_reaches_its_workers(
    cluster: Cluster, user: str, name: str, attach: str, uid: int, annotations: str
) -> None:
    command = OVER_SSH if attach == "ssh" else OVER_EXEC
    values = {"NAME": name, "ATTACH": attach, "USER": str(uid), "COMMAND": command}
    cluster.apply("training-job.yaml", ANNOTATIONS=f"{{{annotations}}}", **values)
    cluster.until_succeeded(f"{name}-launcher")
    runs_as_root = user == clusters.OWN_USER and os.geteuid() == 0
    answers = re.findall(r"^(\d+|[a-z]+-worker-\d)$", cluster.logs(f"{name}-launcher"), re.MULTILINE)
    numbers, hosts = answers[::2], answers[1::2]
    assert hosts == [f"{name}-worker-0", f"{name}-worker-1"]
    assert all((number == "0") == runs_as_root for number in numbers)


def test_deepspeeds_hostfile_follows_a_resize_and_the_new_worker_is_reached(cluster: Cluster) -> None:
    values = {"NAME": "live", "ATTACH": "ssh", "USER": "1000", "COMMAND": FOLLOWS}
    cluster.apply("training-job.yaml", ANNOTATIONS="{}", **values)
    cluster.until(lambda: cluster.phase("live-launcher") == "Running", "a launcher that runs")
    cluster.kubectl("scale", "trainingjob/live", "--replicas=3")
    cluster.until_succeeded("live-launcher")
    assert cluster.logs("live-launcher").split() == [
        *("live-worker-0", "slots=1", "live-worker-1", "slots=1", "live-worker-2", "slots=1", "live-worker-2"),
    ]
