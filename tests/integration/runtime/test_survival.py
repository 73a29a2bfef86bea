# SPDX-License-Identifier: Apache-2.0
"""Who may die without harm, and what is left when a shim itself dies."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.runtime.pods import PATIENCE, Pods, bind, until, until_gone, until_nothing_is_left

from springtide.local.network import netd_client
from springtide.local.runtime import shim_client

COUNTING = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.005; done"


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped by the machine's own init does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_killed_spawner_disturbs_nobody(pods: Pods) -> None:
    """The spawner is a process of its own here, killed at once after the start; the test then adopts the shim."""
    pod = await pods.make()
    await pod.shim.end()
    script = (
        "import asyncio, pathlib, sys, time\n"
        "from springtide.local.runtime import shim_client\n"
        "async def main():\n"
        "    shim = await shim_client.spawn(pathlib.Path(sys.argv[1]))\n"
        "    await shim.start('main', 0)\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(300)\n"
        "asyncio.run(main())\n"
    )
    folder = pod.directory / "containers" / "main"
    folder.mkdir(parents=True, exist_ok=True)
    pod.shim = shim_client.Shim(pod.directory, 0)
    with pytest.raises(shim_client.ShimError):  # writes the body, for the other process to start
        await pod.script(COUNTING)
    agent = subprocess.Popen([sys.executable, "-c", script, str(pod.directory)], stdout=subprocess.PIPE)  # noqa: ASYNC220
    assert agent.stdout
    assert await asyncio.to_thread(agent.stdout.readline) == b"ready\n"
    agent.kill()
    await asyncio.to_thread(agent.wait)
    agent.stdout.close()
    adopted = await shim_client.adopt(pod.directory)
    assert adopted
    pod.shim = adopted
    seen = len(pod.lines())
    await until(lambda: len(pod.lines()) > seen + 20)
    await pod.shim.stop("main", 0)
    assert (await pod.ended()).exit_code == 137
    numbers = [int(text) for _, _, text in pod.lines()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_killed_shim_takes_everything_with_it(networked: Pods) -> None:
    pod = await networked.make()
    env = {"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"}
    mounts = (bind(networked.data, "/etc/mpi"),)
    await pod.script(f"setsid sleep 300 & (setsid sleep 300 &); {COUNTING}", env=env, mounts=mounts)
    await pod.script("echo up; sleep 300", name="other", env=env)
    await pod.printed("3")
    null = os.open("/dev/null", os.O_RDWR)
    await pod.shim.exec("main", ["setsid", "sleep", "300"], [null] * 3)
    os.close(null)
    os.kill(pod.shim.pid, signal.SIGKILL)
    async for _ in pod.shim.changes():
        pass  # the watch ends
    await until_nothing_is_left(pod)
    assert await shim_client.adopt(pod.directory) is None
    states = {state.name: state for state in shim_client.lost(pod.directory)}
    assert [(state.status, state.exit_code, state.reason) for state in states.values()] == [
        ("exited", 137, "Error")
    ] * 2
    numbers = [int(text) for _, _, text in pod.lines()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("share_processes", [False, True])
@pytest.mark.parametrize("seed", range(4))
async def test_a_shim_killed_at_any_moment_of_a_start_leaves_nothing(
    pods: Pods, seed: int, share_processes: bool
) -> None:
    pod = await pods.make(share_processes=share_processes)
    env = {"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"}
    text = "(setsid sleep 300 &); sleep 300 & wait"
    starts = [asyncio.create_task(pod.script(text, name=name, env=env)) for name in ("one", "two")]
    await asyncio.sleep(random.Random(seed).random() * 0.05)
    os.kill(pod.shim.pid, signal.SIGKILL)
    await asyncio.wait(starts)
    for start in starts:
        start.exception()
    await until_nothing_is_left(pod)


async def test_a_new_shim_takes_over_from_a_killed_one(pods: Pods) -> None:
    pod = await pods.make()
    await pod.output("true", name="first")
    await pod.script("sleep 300")
    os.kill(pod.shim.pid, signal.SIGKILL)
    await until(lambda: not alive(pod.shim.pid))
    await pod.open()
    states = {state.name: (state.exit_code, state.reason) for state in await pod.shim.states()}
    assert states == {"first": (0, "Completed"), "main": (137, "Error")}
    assert await pod.output("echo again") == "again\n"


async def test_two_agents_that_start_a_pod_get_one_shim(pods: Pods) -> None:
    pod = await pods.make()
    again = await shim_client.spawn(pod.directory)
    assert again.pid == pod.shim.pid


async def test_a_pid_that_belongs_to_somebody_else_is_not_adopted(pods: Pods) -> None:
    pod = await pods.make()
    await pod.shim.end()
    (pod.directory / "shim.json").write_text(f'{{"pid":{os.getpid()},"boot":"another","start":1}}')
    assert await shim_client.adopt(pod.directory) is None


async def test_a_shim_ends_when_told(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("trap '' TERM; sleep 300", env={"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"})
    await pod.shim.end()
    await until_gone(f"MARK={pod.body.uid}")
    await until(lambda: not alive(pod.shim.pid))
    assert shim_client.lost(pod.directory)[0].exit_code == 137


async def test_a_shim_whose_pod_was_removed_ends_by_itself(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("sleep 300", env={"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"})
    (pod.directory / "body.json").unlink()
    await until(lambda: not alive(pod.shim.pid))
    await until_gone(f"MARK={pod.body.uid}")


async def test_signals_of_a_terminal_do_not_reach_a_shim(pods: Pods) -> None:
    pod = await pods.make()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(pod.shim.pid, number)
    assert os.getsid(pod.shim.pid) == pod.shim.pid
    assert await pod.output("echo well") == "well\n"


async def test_a_killed_holder_leaves_the_pods_their_network(networked: Pods) -> None:
    first = await networked.make()
    await first.script("sleep 300")
    os.kill(await netd_client.ensure(networked.data, uplink=False), signal.SIGKILL)
    waiting = asyncio.create_task(networked.make())  # waits for the holder that is started now
    await asyncio.sleep(0.1)
    await netd_client.ensure(networked.data, uplink=False)
    async with asyncio.timeout(PATIENCE):
        second = await waiting
    await second.script("sleep 300")
    listener = await first.shim.socket()
    listener.bind((first.body.address, 5000))
    listener.listen()
    caller = await second.shim.socket()
    await asyncio.get_running_loop().sock_connect(caller, (first.body.address, 5000))
    caller.close()
    listener.close()


async def test_bad_requests_are_refused_and_do_no_harm(pods: Pods) -> None:
    pod = await pods.make()
    for request in (
        {"do": "nonsense"},
        {"do": "start"},
        {"do": "stop", "container": "main"},
        {"do": "exec", "container": []},
    ):
        with pytest.raises(shim_client.ShimError):
            await pod.shim._ask(request)
    assert await pod.output("echo well") == "well\n"
