# SPDX-License-Identifier: Apache-2.0
"""Where namespaces are refused: no root and no network of its own, but nothing is left behind."""

from __future__ import annotations

import os
import signal

import pytest
from tests.integration.runtime.pods import Pods, until_gone

from springtide.local.runtime.shim_client import ShimError

DAEMONS = "(setsid sleep 300 &); setsid sleep 300 & echo up;"


async def test_a_program_runs_and_its_code_is_told(plain: Pods) -> None:
    pod = await plain.make(isolation="none")
    await pod.script("echo hello; exit 3")
    assert (await pod.ended()).exit_code == 3
    assert pod.text() == "hello\n"


async def test_daemons_end_with_the_program(plain: Pods) -> None:
    pod = await plain.make(isolation="none")
    await pod.script(f"{DAEMONS} exit 2", env={"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"})
    assert (await pod.ended()).exit_code == 2
    await until_gone(f"MARK={pod.body.uid}")


async def test_after_the_grace_all_descendants_are_killed(plain: Pods) -> None:
    pod = await plain.make(isolation="none")
    await pod.script(
        f"trap '' TERM; {DAEMONS} while :; do sleep 0.1; done", env={"MARK": pod.body.uid, "PATH": "/bin:/usr/bin"}
    )
    await pod.printed("up")
    await pod.shim.stop("main", 0.1)
    assert (await pod.ended()).exit_code == 137
    await until_gone(f"MARK={pod.body.uid}")


async def test_a_killed_shim_takes_everything_with_it(plain: Pods) -> None:
    pod = await plain.make(isolation="none")
    await pod.script(f"{DAEMONS} sleep 300", env={"MARK": pod.body.uid, "PATH": "/bin:/usr/bin"})
    await pod.printed("up")
    os.kill(pod.shim.pid, signal.SIGKILL)
    await until_gone(f"MARK={pod.body.uid}")


async def test_commands_and_usage(plain: Pods) -> None:
    pod = await plain.make(isolation="none")
    await pod.script("echo up; sleep 300")
    await pod.printed("up")
    assert await pod.run("sh", "-c", "echo here; exit 5") == (5, "here\n")
    with pytest.raises(ShimError, match="not found"):
        await pod.run("no-such-command")
    assert (await pod.shim.usage())["main"]["memory"] > 0


async def test_memory_limits_hold(plain: Pods) -> None:
    pod = await plain.make(isolation="none")
    await pod.script("python3 -S -c 'x = bytearray(200 << 20); import time; time.sleep(300)'", memory_limit=64 << 20)
    assert (await pod.ended()).reason == "OOMKilled"
