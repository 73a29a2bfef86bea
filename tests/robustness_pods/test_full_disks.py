# SPDX-License-Identifier: Apache-2.0
"""No room for one more byte: programs wait, nothing is lost, nothing dies, and pods can still be ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import Space, state
from tests.robustness_pods.clusters import Victim, small_disk, space_on, victim
from tests.small_disks import filled

from springtide.kube import errors
from springtide.kube.request import Scope
from springtide.kube.resources import PODS, Obj
from springtide.local.runtime import shim_client

SERVER = "springtide.local.supervisor.server"
COUNTING = """
    import itertools, time
    for number in itertools.count():
        print(number)
        time.sleep(0.002)
"""


def uid(seen: Obj) -> str:
    return str(seen["metadata"]["uid"])


async def until_it_waits(space: Space, found: Victim, seen: Obj) -> None:
    """Until its log cannot be written."""

    async def trouble() -> str:
        shim = await shim_client.adopt(found.place.pods / uid(seen))
        assert shim is not None
        return (await shim.states())[0].trouble

    await space.eventually(trouble, lambda text: "no space left on device" in text)


async def test_a_full_disk_ends_nothing_and_loses_nothing(kind: str) -> None:
    with victim(kind, "disk/c") as found, small_disk(found.home / "disk", found.home, "32m"):
        found.up()
        async with space_on(found) as space:
            seen = await space.start(pod(py(COUNTING), name="counting"))
            other = await space.start(pod(sh("while [ ! -e /tmp/end ]; do sleep 0.1; done; exit 3"), name="other"))
            quiet = await space.start(pod(sh(WAIT), name="quiet"))
            lives = [found.shim(uid(each)) for each in (seen, other, quiet)]
            with filled(found.home / "disk"):
                await until_it_waits(space, found, seen)
                for end in found.place.pods.glob(f"{uid(other)}/containers/main/root/0/tmp"):
                    (end / "end").mkdir()
                await until_it_waits(space, found, seen)
            before = len((await space.log("counting")).splitlines())
            numbers = await space.says("counting", f"\n{before + 100}\n")
            assert numbers.splitlines() == [str(number) for number in range(len(numbers.splitlines()))]
            ended = await space.ended("other")
            assert state(ended)["terminated"]["exitCode"] == 3
            assert [found.shim(uid(each)) for each in (seen, quiet)] == [lives[0], lives[2]]
        found.down("--grace", "0")


async def test_a_log_that_cannot_be_written_is_told_and_keeps_no_pod_alive(kind: str) -> None:
    with victim(kind) as found, small_disk(found.place.path / "logs", found.home, "1m"):
        found.up()
        async with space_on(found) as space:
            seen = await space.start(pod(py(COUNTING), name="counting"))
            with filled(found.place.path / "logs"):
                message = await space.event("counting", "FailedLogWrite")
                assert "no space left on device; the program waits until it can be written" in message
                assert "running" in state(await space.phase("counting", "Running"))
                await space.delete("counting")
                await space.gone("counting")
                assert found.shim(uid(seen)) == 0
        found.down("--grace", "0")


async def test_a_cluster_on_a_full_disk_can_be_ended_and_goes_on_later(kind: str) -> None:
    with victim(kind, "disk/c") as found, small_disk(found.home / "disk", found.home, "32m"):
        found.up()
        async with space_on(found) as space:
            seen = await space.start(pod(py(COUNTING), name="counting", restartPolicy="Always"))
            with filled(found.home / "disk"):
                await until_it_waits(space, found, seen)
                found.down()
                assert found.shim(uid(seen)) == 0
        found.up()
        async with space_on(found) as space:
            await space.ready("counting")
        found.down("--grace", "0")


SEVERAL = 6
"""A server that never was up is tried five times."""


async def test_whoever_dies_on_a_full_disk_is_started_for_as_long_as_it_takes(kind: str) -> None:
    """Server, agent, operator and network holder."""
    with victim(kind, "disk/c") as found, small_disk(found.home / "disk", found.home, "32m"):
        found.up()
        async with space_on(found) as space:
            seen = await space.start(pod(sh(WAIT), name="quiet", restartPolicy="Never"))
            shim, supervisor = found.shim(uid(seen)), found.supervisor()
            await until(found.place.operator_process)
            leave_room(found.place.log)
            victims = {found.server(), found.agent(), found.holder(), found.place.operator_process()}
            with filled(found.home / "disk"):
                for process in victims:
                    assert process
                    os.kill(process, signal.SIGKILL)
                tries: set[int] = set()
                while len(tries - victims) < SEVERAL:
                    tries |= found.processes(SERVER)
                    await asyncio.sleep(0.05)
            said = found.place.log.read_text(errors="replace")
            assert f"the disk that holds {found.place.path} is full. Free some space" in said
            assert (found.supervisor(), found.shim(uid(seen))) == (supervisor, shim)
            await until(found.place.server_process)
            await until(lambda: found.place.operator_process() not in (None, *victims))
            await until(lambda: found.agent() not in (0, *victims))
            await space.eventually(lambda: answered(space), lambda names: names == ["quiet"])
            await space.start(pod(sh(WAIT), name="another"))
            assert found.shim(uid(seen)) == shim
        found.down("--grace", "0")


def leave_room(log: Path) -> None:
    """A file may still grow to the end of its last page when the disk is full: one begins now."""
    with log.open("ab", buffering=0) as file:
        file.write(b"\n" * (4096 - log.stat().st_size % 4096 + 1))


async def answered(space: Space) -> list[str]:
    try:
        return [each["metadata"]["name"] for each in (await space.client.list(PODS, Scope("default"))).items]
    except errors.Unreachable:
        return []


async def until(what: Callable[[], object]) -> None:
    deadline = asyncio.get_running_loop().time() + 90
    while not what():
        assert asyncio.get_running_loop().time() < deadline, "it did not come to this"
        await asyncio.sleep(0.05)
