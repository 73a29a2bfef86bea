# SPDX-License-Identifier: Apache-2.0
"""Shims that are born in a nursery are like others, and hang on it as little as on the agent."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.integration.runtime.pods import Pod, Pods, until

from springtide.local.runtime import shim_client
from springtide.local.runtime.fork_client import ForkClient
from springtide.local.runtime.shim_client import ShimError


@pytest.fixture
def nursery() -> Iterator[ForkClient]:
    made = ForkClient()
    yield made
    made.close()


@pytest.fixture
async def pod(data: Path, nursery: ForkClient) -> AsyncIterator[Pod]:
    pods = Pods(data, "")
    made = await pods.make(nursery=nursery, isolation="none")
    yield made
    await pods.end()


async def test_a_shim_outlives_its_nursery(pod: Pod, nursery: ForkClient) -> None:
    await pod.script("sleep 300")
    nursery.close()
    adopted = await shim_client.adopt(pod.directory)
    assert adopted is not None
    assert [state.status for state in await adopted.states()] == ["running"]


async def test_a_nursery_that_was_killed_is_replaced(data: Path, pod: Pod, nursery: ForkClient) -> None:
    assert nursery.pid is not None
    os.kill(nursery.pid, signal.SIGKILL)
    await until(lambda: _is_dead(nursery.pid))
    pods = Pods(data, "")
    other = await pods.make(nursery=nursery, isolation="none")
    await other.script("exit 3")
    assert (await other.ended()).exit_code == 3
    await pods.end()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_shim_is_found_by_its_command_line(pod: Pod, nursery: ForkClient) -> None:
    assert str(pod.directory) in _words(pod.shim.pid)
    assert not any(str(pod.data) in word for word in _words(nursery.pid))


async def test_what_keeps_a_shim_from_starting_is_told(data: Path, nursery: ForkClient) -> None:
    with pytest.raises(ShimError, match=r"(?i)no such file or directory"):
        await nursery.spawn(data / "pods" / "missing")
    directory = data / "pods" / "wrong"
    directory.mkdir(parents=True)
    (directory / "body.json").write_bytes(msgspec.json.encode({"uid": "x"}))
    with pytest.raises(ShimError):
        await nursery.spawn(directory)


def _words(pid: int | None) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def _is_dead(pid: int | None) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
