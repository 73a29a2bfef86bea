# SPDX-License-Identifier: Apache-2.0
"""What launchers of training jobs expect of their pods: kubectl, one name for the network interface, long commands."""

from __future__ import annotations

import pytest
from tests.pods.clusters import Cluster
from tests.pods.manifests import WAIT, mount, pod, py, sh
from tests.pods.spaces import Space

LONG = 500 * 1024
COUNT = "import sys; print(len(sys.argv) - 1, sum(map(len, sys.argv[1:])))"


def words() -> list[str]:
    """Many, for the kernel takes no more than 128 KiB in one."""
    return ["x" * (LONG // 20)] * 20


async def test_the_interface_is_eth0_in_every_pod(space: Space) -> None:
    program = "import socket; print(*sorted(name for _, name in socket.if_nameindex() if name in ('lo', 'eth0')))"
    assert await space.run(pod(py(program))) == "eth0 lo\n"


@pytest.mark.parametrize("kubectl", ["/opt/kube/kubectl", "/run/springtide/bin/kubectl"])
@pytest.mark.parametrize("path", ["PATH=/nowhere", "PATH=/bin:/usr/bin", "NOTHING="])
async def test_every_pod_has_a_kubectl_whatever_its_path(
    embedded: Cluster, space: Space, kubectl: str, path: str
) -> None:
    script = f"env -i {path} {kubectl} version --client"
    assert await space.run(pod(sh(script))) == "Client Version: springtide (built in)\n"


async def test_a_volume_takes_the_place_of_the_built_in_kubectl(embedded: Cluster, space: Space) -> None:
    at = [mount("kubectl", "/opt/kube")]
    bring = sh("echo 'echo brought' > /opt/kube/kubectl", "bring", volumeMounts=at)
    launcher = sh("ls /opt/kube; sh /opt/kube/kubectl", volumeMounts=at)
    volumes = [{"name": "kubectl", "emptyDir": {}}]
    assert await space.run(pod(launcher, initContainers=[bring], volumes=volumes)) == "kubectl\nbrought\n"


@pytest.mark.parametrize("websockets", ["true", "false"])
async def test_a_command_may_be_half_a_megabyte_long(space: Space, websockets: str) -> None:
    await space.start(pod(sh(WAIT)))
    command = ["python3", "-c", COUNT, *words()]
    answer = space.kubectl("exec", "p", "--", *command, KUBECTL_REMOTE_COMMAND_WEBSOCKETS=websockets)
    assert answer == f"20 {LONG // 20 * 20}\n"


async def test_the_built_in_kubectl_takes_long_commands_too(embedded: Cluster, space: Space) -> None:
    space.kubectl(
        "create", "rolebinding", "all", "--clusterrole=cluster-admin", f"--serviceaccount={space.name}:default"
    )
    await space.start(pod(sh(WAIT)))
    ask = f"""
import subprocess
words = ["x" * {LONG // 20}] * 20
subprocess.run(["/opt/kube/kubectl", "exec", "p", "--", "python3", "-c", {COUNT!r}, *words], check=True)
"""
    assert await space.run(pod(py(ask), name="launcher")) == f"20 {LONG // 20 * 20}\n"


async def test_the_built_in_kubectl_opens_a_terminal_in_the_other_pod(embedded: Cluster, space: Space) -> None:
    space.kubectl(
        "create", "rolebinding", "all", "--clusterrole=cluster-admin", f"--serviceaccount={space.name}:default"
    )
    await space.start(pod(sh(f"echo > /tmp/other; {WAIT}")))
    inside = "test -e /tmp/other && tty; ls -x /dev/pts; stty size"
    ask = f"stty rows 33 cols 101; tty; /opt/kube/kubectl exec -it p -- sh -c '{inside}'"
    log = await space.run(pod(sh(ask, stdin=True, tty=True), name="launcher"))
    assert log.split() == ["/dev/pts/0", "/dev/pts/0", "0", "ptmx", "33", "101"]
