# SPDX-License-Identifier: Apache-2.0
"""`mpirun` starts its daemons in other pods by ssh, the way later MPIJobs run: sshd and ssh without an option, keys
from a volume, and all of it in `/root` as well as in the home of an ordinary user of the image."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.programs import mpi
from tests.programs.conftest import Start
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Layout:
    """Where an image wants its keys, and who uses them."""

    name: str
    keys: str
    mode: int
    command: tuple[str, ...] = ("/usr/sbin/sshd", "-De")
    user: int = 0

    @property
    def home(self) -> str:
        return str(Path(self.keys).parent)

    @property
    def values(self) -> dict[str, str]:
        words = {"COMMAND": json.dumps(self.command), "KEYS": self.keys, "MODE": oct(self.mode)}
        return words | {"USER": str(self.user), "NAMESPACE": self.name}


LAYOUTS = (
    Layout("root", "/root/.ssh", 0o600),
    Layout("elsewhere", "/home/mpiuser/.ssh", 0o644),
    Layout("mpiuser", "/home/mpiuser/.ssh", 0o644, ("/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"), 1000),
)


@pytest.fixture(scope="module")
def whole(user: str, started: Start, packages: Path) -> Cluster:
    assert Path("/usr/sbin/sshd").exists(), "sshd is missing: apt-get install openssh-server"
    cluster = started(user=user)
    mpi.make_environment(cluster, packages)
    return cluster


@pytest.fixture(scope="module", params=LAYOUTS, ids=lambda layout: layout.name)
def layout(request: pytest.FixtureRequest) -> Layout:
    found: Layout = request.param
    return found


@pytest.fixture(scope="module")
def cluster(whole: Cluster, layout: Layout, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A namespace with workers."""
    whole.kubectl("create", "namespace", layout.name)
    cluster = replace(whole, kubectl=replace(whole.kubectl, namespace=layout.name))
    cluster.config_map("mpi", "hostfile-ssh", "allreduce.py")
    make_key(cluster, tmp_path_factory.mktemp("ssh") / "key")
    cluster.apply("mpi-ssh.yaml")
    for index in range(3):
        cluster.apply("mpi-ssh-worker.yaml", INDEX=str(index), **layout.values)
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


def launch(cluster: Cluster, layout: Layout, steps: int) -> None:
    cluster.apply("mpi-ssh-launcher.yaml", STEPS=str(steps), **layout.values)


def test_three_pods_compute_together(cluster: Cluster, layout: Layout) -> None:
    launch(cluster, layout, 5)
    cluster.until_succeeded("launcher")
    mpi.check(cluster.logs("launcher"), 5)


@pytest.mark.parametrize("layout", LAYOUTS[:1], ids=lambda layout: layout.name, indirect=True)
def test_a_run_does_not_notice_that_all_but_its_pods_is_killed(cluster: Cluster, layout: Layout) -> None:
    launch(cluster, layout, mpi.LONG)
    mpi.wait_for_the_middle(cluster)
    cluster.kill_holder()
    cluster.kill_server_and_agents()
    cluster.until_succeeded("launcher")
    mpi.check(cluster.logs("launcher"), mpi.LONG)


def test_a_shell_over_ssh_finds_what_the_environment_has(cluster: Cluster, layout: Layout, user: str) -> None:
    done = cluster.kubectl.run(
        "exec", "worker-0", "--", "ssh", "worker-1.ring", "hostname; pwd; command -v mpirun; command -v sshd; id -u"
    )
    assert (done.returncode, done.stderr) == (0, "")
    hostname, home, mpirun, sshd, uid = done.stdout.splitlines()
    assert (hostname, sshd) == ("worker-1", "/usr/sbin/sshd")
    runs_as_root = user == "own user" and layout.user == 0
    assert home == ("/root" if runs_as_root else layout.home)
    assert mpirun == cluster.kubectl("exec", "worker-0", "--", "sh", "-c", "command -v mpirun").strip()
    assert "/environments/mpi/" in mpirun
    assert uid == cluster.kubectl("exec", "worker-0", "--", "id", "-u").strip()
