# SPDX-License-Identifier: Apache-2.0
"""Memory limits without cgroups, and what a pod uses."""

from __future__ import annotations

from tests.integration.runtime.pods import Pods, until_gone

LIMIT = 64 << 20
EATING = "echo up; python3 -S -c 'x = bytearray(200 << 20); import time; time.sleep(300)'"


async def test_a_container_over_its_limit_is_killed(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script(EATING, memory_limit=LIMIT)
    state = await pod.ended()
    assert (state.exit_code, state.reason) == (137, "OOMKilled")


async def test_a_command_counts_too(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("echo up; exec sleep 300", memory_limit=LIMIT)
    await pod.printed("up")
    code, _ = await pod.run("sh", "-c", EATING)
    assert code == 137
    assert (await pod.ended()).reason == "OOMKilled"


async def test_memory_that_forks_share_is_counted_once(pods: Pods) -> None:
    """Each of the four has 40 MiB resident, but they are the same: data loaders live from this."""
    pod = await pods.make()
    text = "x = bytearray(40 << 20); import os, time; [os.fork() for _ in range(2)]; time.sleep(1)"
    await pod.script(f"python3 -S -c '{text}'", memory_limit=90 << 20)
    assert (await pod.ended()).exit_code == 0


async def test_usage_of_running_containers(pods: Pods) -> None:
    pod = await pods.make()
    text = "x = bytearray(50 << 20)\nwhile sum(range(10**6)) and not print(flush=True): pass"
    await pod.start("python3", "-S", "-c", text, env={"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"})
    await pod.printed("\n\n\n\n\n\n\n\n\n")
    usage = (await pod.shim.usage())["main"]
    assert usage["memory"] > 50 << 20
    assert usage["cpu"] > 0
    await pod.shim.stop("main", 0)
    await pod.ended()
    assert await pod.shim.usage() == {}
    await until_gone(f"MARK={pod.body.uid}")
