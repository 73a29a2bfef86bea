# SPDX-License-Identifier: Apache-2.0
"""Processes of the cluster that hang, are missing, come twice or cannot fork; and machines that sleep or start anew."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integration.runtime import ordinary
from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import condition, restarts, state
from tests.robustness_pods.clusters import Victim, space_on, victim

from springtide.kube.resources import NODES, Key

TICKING = "import itertools, time\nfor number in itertools.count(): print(number); time.sleep(0.05)"


def read(path: str) -> str:
    return Path(path).read_text()


@contextmanager
def stopped(*processes: int) -> Iterator[None]:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def as_said(ask: Callable[[], int]) -> Callable[[], Awaitable[int]]:
    async def answer() -> int:
        return ask()

    return answer


async def test_a_stuck_shim_holds_up_nobody_else(cluster: Victim) -> None:
    async with space_on(cluster) as space:
        seen = await space.start(pod(sh(WAIT), name="stuck"))
        with stopped(cluster.shim(seen["metadata"]["uid"])):
            os.kill(cluster.agent(), signal.SIGKILL)
            assert await space.run(pod(sh("echo here"), name="other")) == "here\n"
        assert restarts(await space.ready("stuck")) == 0


async def test_a_second_agent_of_a_node_is_sent_away(cluster: Victim) -> None:
    words = read(f"/proc/{cluster.agent()}/cmdline").rstrip("\0").split("\0")
    arguments = words[words.index("springtide.local.kubelet") + 1 :]
    argv = [sys.executable, "-m", "springtide.local.kubelet", *arguments]
    second = await asyncio.create_subprocess_exec(
        *(ordinary.command(argv) if cluster.is_another else argv),
        cwd=ordinary.REPOSITORY,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(second.communicate(), 60)
    assert (second.returncode, said.decode().splitlines()[-1]) == (
        1,
        f"node a of {cluster.place.path} has an agent already",
    )


async def test_pods_wait_for_the_network_s_holder(cluster: Victim) -> None:
    async with space_on(cluster) as space:
        with stopped(cluster.supervisor()):
            os.kill(cluster.holder(), signal.SIGKILL)
            await space.create(pod(sh("getent hosts kubernetes.default | cut -d' ' -f1"), name="waits"))
            assert "netd does not answer" in await space.event("waits", "FailedCreatePodSandBox")
        await space.ended("waits")
        assert await space.log("waits") == "10.96.0.1\n"


async def test_a_machine_that_slept_goes_on(cluster: Victim) -> None:
    async with space_on(cluster) as space:
        await space.start(pod(py(TICKING), name="ticking"))
        with stopped(cluster.supervisor(), cluster.server(), cluster.agent(), cluster.holder()):
            await asyncio.sleep(2)
        assert await space.run(pod(sh("echo awake"), name="other")) == "awake\n"
        numbers = (await space.log("ticking")).splitlines()
        assert numbers == [str(number) for number in range(len(numbers))]
        assert restarts(await space.ready("ticking")) == 0
        node = await space.client.get(NODES, Key("", "a"))
        assert condition(node, "Ready")["status"] == "True"


async def test_after_a_reboot_pods_run_again_and_numbers_of_processes_mean_nothing(cluster: Victim) -> None:
    bystander = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        async with space_on(cluster) as space:
            seen = await space.start(pod(sh(WAIT), name="p", restartPolicy="Always"))
            directory = cluster.place.pods / seen["metadata"]["uid"]
            shim = cluster.shim(seen["metadata"]["uid"])
            for process in (cluster.supervisor(), cluster.agent()):  # or it would mend what breaks
                os.kill(process, signal.SIGKILL)
            await space.eventually(as_said(cluster.agent), lambda process: not process)
            for process in (cluster.holder(), shim):
                os.kill(process, signal.SIGKILL)
        identity = json.loads((directory / "shim.json").read_bytes()) | {"pid": bystander.pid, "boot": "another"}
        (directory / "shim.json").write_text(json.dumps(identity))
        (cluster.place.pods / "left-behind").mkdir()
        (cluster.place.pods / "left-behind" / "pod.json").write_text('{"node":')
        cluster.up()
        async with space_on(cluster) as space:
            ready = await space.until(
                "p", lambda found: restarts(found) == 1 and condition(found, "Ready")["status"] == "True"
            )
            assert "running" in state(ready)
            assert await space.event("p", "SandboxChanged")
        assert bystander.returncode is None
    finally:
        bystander.kill()
        await bystander.wait()


async def test_a_directory_whose_pod_is_gone_is_cleared(cluster: Victim) -> None:
    uid = "11111111-1111-1111-1111-111111111111"
    record = {"node": "a", "namespace": "default", "name": "ghost", "uid": uid, "address": "10.244.1.77"}
    cluster.down()
    directory, logs = cluster.place.pods / uid, cluster.place.path / "logs" / f"default_ghost_{uid}"
    for folder in (directory / "containers/main", logs / "main"):
        folder.mkdir(parents=True)
    (directory / "pod.json").write_text(json.dumps(record))
    if cluster.is_another:
        for path in (cluster.place.pods, *cluster.place.pods.rglob("*"), logs.parent, *logs.parent.rglob("*")):
            os.chown(path, ordinary.UID, ordinary.UID)
    cluster.up()
    async with space_on(cluster) as space:

        async def left() -> list[Path]:
            return [path for path in (directory, logs) if path.exists()]

        await space.eventually(left, lambda paths: not paths)


@contextmanager
def without_processes(victim: Victim, *processes: int) -> Iterator[None]:
    """They cannot fork any more: their user has as many as he may have."""
    lines = read(f"/proc/{processes[0]}/limits").splitlines()
    usual, most = next(line.split()[2:4] for line in lines if line.startswith("Max processes"))

    def limit(soft: str) -> None:
        for process in processes:
            argv = [sys.executable, "-c", _LIMIT, str(process), soft, most]
            subprocess.run(ordinary.command(argv) if victim.is_another else argv, cwd=ordinary.REPOSITORY, check=True)

    limit("1")
    try:
        yield
    finally:
        limit(usual)


_LIMIT = """
import resource, sys
process, *limits = (-1 if word == "unlimited" else int(word) for word in sys.argv[1:])
resource.prlimit(process, resource.RLIMIT_NPROC, tuple(limits))
"""


async def test_who_cannot_fork_says_so() -> None:
    with victim("user") as cluster:
        cluster.up()
        agent = cluster.agent()
        async with space_on(cluster) as space:
            ends = sh("while [ ! -e /tmp/end ]; do sleep 0.1; done; exit 1", "ends")
            seen = await space.start(pod(sh(WAIT), ends, name="before", restartPolicy="Always"))
            children = read(f"/proc/{agent}/task/{agent}/children").split()
            with without_processes(cluster, agent, *map(int, children)):
                await space.create(pod(sh("echo well"), name="late"))
                message = await space.event("late", "FailedCreatePodSandBox")
                assert "resource temporarily unavailable" in message.lower()
            await space.ended("late")
            assert await space.log("late") == "well\n"
            with without_processes(cluster, cluster.shim(seen["metadata"]["uid"])):
                (cluster.place.pods / seen["metadata"]["uid"] / "containers/ends/root/0/tmp/end").touch()
                message = await space.event("before", "Failed")
                assert "resource temporarily unavailable" in message
            again = await space.ready("before")
            assert (restarts(again), restarts(again, "ends") > 0) == (0, True)


if not Path("/proc/self/task").exists():
    pytest.skip("needs Linux", allow_module_level=True)
