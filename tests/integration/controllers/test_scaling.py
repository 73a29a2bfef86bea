# SPDX-License-Identifier: Apache-2.0
"""ScaleOut and ScaleIn, from their submission to their end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.scaled import (
    NAME,
    SCALE_INS,
    SCALE_OUTS,
    SUCCESS,
    TRAININGJOBS,
    ScaledJob,
    exited,
    moving,
    with_commands,
)
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import Server, World

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import NAMESPACES, PODS, SERVICEACCOUNTS, Key, Obj

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def scaled(operated: World) -> AsyncIterator[ScaledJob]:
    """A job with an operator, whose pods start by themselves."""
    async with moving(operated):
        yield ScaledJob(operated)


async def test_a_job_grows_and_shrinks_by_scalers(scaled: ScaledJob) -> None:
    await scaled.running(2)
    await scaled.scale_out("grow", 2, timeout=600)
    done = await scaled.until(SCALE_OUTS, "grow", "ScaleSucceeded")
    assert (done["reason"], await scaled.size()) == ("ScalingOutSucceeded", 4)
    await scaled.until_listed(0, 1, 2, 3)
    added = await scaled.world.get(PODS, f"{NAME}-worker-3")
    assert added["metadata"]["labels"]["scaleout-name"] == "grow"
    await scaled.scale_in("shrink", 1)
    done = await scaled.until(SCALE_INS, "shrink", "ScaleSucceeded")
    assert (done["reason"], await scaled.size()) == ("ScalingInSucceeded", 3)
    await scaled.until_listed(0, 1, 2)
    assert await scaled.workers() == [f"{NAME}-worker-{index}" for index in (0, 1, 2)]
    await scaled.world.until(lambda: scaled.reasons("grow"), lambda found: "ScalingOutSucceeded" in found)


async def test_a_scaler_belongs_to_its_job_and_keeps_its_other_owners(scaled: ScaledJob) -> None:
    await scaled.running(1)
    job = await scaled.world.get(TRAININGJOBS, NAME)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "11111111-2222-3333-4444-555555555555"}
    grow = {
        "apiVersion": SCALE_OUTS.api_version,
        "kind": "ScaleOut",
        "metadata": {"name": "grow", "ownerReferences": [other]},
        "spec": {"selector": {"name": NAME}, "toAdd": {"count": 1}},
    }
    await scaled.create(SCALE_OUTS, grow)
    await scaled.until(SCALE_OUTS, "grow", "ScaleSucceeded")
    owners = (await scaled.world.get(SCALE_OUTS, "grow"))["metadata"]["ownerReferences"]
    ours = {"kind": "TrainingJob", "name": NAME, "uid": job["metadata"]["uid"], "controller": True}
    assert owners[0] == other
    assert owners[1] == {**ours, "apiVersion": TRAININGJOBS.api_version, "blockOwnerDeletion": True}


async def test_workers_that_do_not_start_are_rolled_back(operated: World) -> None:
    async with moving(operated, keeps=lambda name: name.endswith("worker-2")):
        scaled = ScaledJob(operated)
        await scaled.running(1)
        await scaled.scale_out("grow", 2, timeout=4)
        failed = await scaled.until(SCALE_OUTS, "grow", "ScaleFailed")
        assert failed["message"].startswith(f"1 of 2 ready within 4 s; {NAME}-worker-2: ")
        await operated.until(scaled.workers, lambda found: found == [f"{NAME}-worker-0"])
    assert await scaled.size() == 1


async def test_twenty_scalers_take_turns_in_the_order_of_their_creation(scaled: ScaledJob) -> None:
    """Of scalers that were created in one second, that of their names. In any other order one would break a bound."""
    await scaled.running(1, most=2)
    names = [f"s-{number:02}" for number in range(20)]
    for out, in_ in zip(names[::2], names[1::2], strict=True):
        await scaled.scale_out(out, 1)
        await scaled.scale_in(in_, 1)
    for out, in_ in zip(names[::2], names[1::2], strict=True):
        await scaled.until(SCALE_OUTS, out, "ScaleSucceeded")
        await scaled.until(SCALE_INS, in_, "ScaleSucceeded")
    assert (await scaled.size(), len(await scaled.workers())) == (1, 1)


async def test_a_script_runs_in_the_launcher_with_its_words_as_they_are(world: World) -> None:
    async def script(words: Sequence[str]) -> tuple[Obj, bytes]:
        return SUCCESS, b"step 1\nstep 2\n"

    wire, transport = with_commands(world, script)
    await world.start(wire)
    async with moving(world):
        scaled = ScaledJob(world)
        await scaled.running(1)
        env = [{"name": "WORDS", "value": "a b; rm -rf '$HOME'"}]
        made = await scaled.scale_out("grow", 2, script="/scale.sh", env=env, timeout=30)
        await scaled.until(SCALE_OUTS, "grow", "ScaleSucceeded")
        conditions = (await world.get(SCALE_OUTS, "grow"))["status"]["conditions"]
        executed = next(each for each in conditions if each["type"] == "ScriptExecuted")
        assert executed["message"].endswith("step 1\nstep 2")
    uid, hosts = made["metadata"]["uid"], f"{NAME}-worker-1:1,{NAME}-worker-2:1"
    variables = ["WORDS=a b; rm -rf '$HOME'", f"SPRINGTIDE_SCALER_UID={uid}"]
    assert transport.commands == [["env", *variables, "timeout", "-k", "5", "30", "sh", "/scale.sh", hosts]]
    assert transport.targets == [f"/api/v1/namespaces/{world.namespace}/pods/{NAME}-launcher/exec main"]


async def test_a_script_that_fails_is_run_again_as_often_as_allowed(world: World) -> None:
    codes = iter((3, 0, 4))

    async def script(words: Sequence[str]) -> tuple[Obj, bytes]:
        code = next(codes)
        return (exited(code) if code else SUCCESS), b"oops\n"

    wire, transport = with_commands(world, script)
    await world.start(wire)
    async with moving(world):
        scaled = ScaledJob(world)
        await scaled.running(1)
        await scaled.scale_out("twice", 1, script="/scale.sh", backoffLimit=1, timeout=30)
        await scaled.until(SCALE_OUTS, "twice", "ScaleSucceeded")
        await scaled.scale_out("once", 1, script="/scale.sh", timeout=30)
        failed = await scaled.until(SCALE_OUTS, "once", "ScaleFailed")
        assert "exited with code 4: oops" in failed["message"]
        await world.until(scaled.workers, lambda found: len(found) == 2)
    assert len(transport.commands) == 3


async def test_the_script_of_a_scaler_that_is_deleted_is_left(world: World) -> None:
    left = asyncio.Event()

    async def script(words: Sequence[str]) -> tuple[Obj, bytes]:
        try:
            await asyncio.sleep(60)
        finally:
            left.set()
        raise AssertionError

    wire, transport = with_commands(world, script)
    await world.start(wire)
    async with moving(world):
        scaled = ScaledJob(world)
        await scaled.running(1)
        await scaled.scale_out("grow", 1, script="/scale.sh", timeout=60)
        await world.until(_ask(lambda: bool(transport.commands)), bool)
        await world.delete(SCALE_OUTS, "grow")
        await asyncio.wait_for(left.wait(), 10)
        await world.until(scaled.workers, lambda found: found == [f"{NAME}-worker-0"])
    assert len(transport.commands) == 1


async def test_the_next_operator_runs_the_script_again(world: World) -> None:
    ends = asyncio.Event()

    async def script(words: Sequence[str]) -> tuple[Obj, bytes]:
        await ends.wait()
        return SUCCESS, b"done\n"

    wire, first = with_commands(world, script)
    await world.start(wire)
    async with moving(world):
        scaled = ScaledJob(world)
        await scaled.running(1)
        await scaled.scale_out("grow", 1, script="/scale.sh", timeout=60)
        await world.until(_ask(lambda: bool(first.commands)), bool)
        await world.kill(wire)
        wire, second = with_commands(world, script)
        await world.start(wire)
        await world.until(_ask(lambda: bool(second.commands)), bool)
        assert (await world.get(SCALE_OUTS, "grow"))["status"]["phase"] == "Scaling"
        ends.set()
        await scaled.until(SCALE_OUTS, "grow", "ScaleSucceeded")
        assert first.commands == second.commands
    assert await scaled.size() == 2


@pytest.mark.parametrize("writes", [1, 2, 3])
async def test_every_operator_dies_after_so_many_writes(world: World, writes: int) -> None:
    """Each write is made once, or again by the next operator."""

    async def mortals() -> None:
        while True:
            wire = await world.start(Wire(world.server.transport(), writes))
            await wire.cut.wait()
            await world.stop(wire)

    async with moving(world), meanwhile(mortals()):
        scaled = ScaledJob(world)
        await scaled.running(1)
        await scaled.scale_out("grow", 2)
        await scaled.until(SCALE_OUTS, "grow", "ScaleSucceeded")
        await scaled.scale_in("shrink", 1)
        await scaled.until(SCALE_INS, "shrink", "ScaleSucceeded")
        assert await scaled.size() == 2
        await world.until(scaled.workers, lambda found: found == [f"{NAME}-worker-{index}" for index in (0, 1)])


async def test_a_scaler_may_come_before_its_job(scaled: ScaledJob) -> None:
    await scaled.scale_out("grow", 1)
    waiting = await scaled.until(SCALE_OUTS, "grow", "Created")
    assert waiting["message"].startswith(f"ScaleOut grow waits for TrainingJob {NAME}, which does not exist; it fails")
    await scaled.world.quiet()
    before = len(scaled.world.wire.writes)
    await scaled.world.quiet()
    assert len(scaled.world.wire.writes) == before
    await scaled.submit(1)
    await scaled.until(SCALE_OUTS, "grow", "ScaleSucceeded")
    await scaled.until_listed(0, 1)


async def test_a_scaler_of_a_job_that_was_created_anew_fails(scaled: ScaledJob) -> None:
    await scaled.running(1)
    gone = {"apiVersion": TRAININGJOBS.api_version, "kind": "TrainingJob", "name": NAME, "controller": True}
    grow = {
        "apiVersion": SCALE_OUTS.api_version,
        "kind": "ScaleOut",
        "metadata": {"name": "grow", "ownerReferences": [{**gone, "uid": "11111111-2222-3333-4444-555555555555"}]},
        "spec": {"selector": {"name": NAME}, "toAdd": {"count": 1}},
    }
    await scaled.create(SCALE_OUTS, grow)
    failed = await scaled.until(SCALE_OUTS, "grow", "ScaleFailed")
    assert failed["message"] == f"TrainingJob {NAME} has been deleted"
    assert await scaled.workers() == [f"{NAME}-worker-0"]


async def test_scalers_of_a_job_that_is_deleted_fail(scaled: ScaledJob) -> None:
    await scaled.running(2)
    await scaled.world.client.patch(
        TRAININGJOBS, scaled.world.key(NAME), {"metadata": {"finalizers": ["springtide.dev/test"]}}
    )
    await scaled.world.delete(TRAININGJOBS, NAME)
    await scaled.scale_in("shrink", 1)
    failed = await scaled.until(SCALE_INS, "shrink", "ScaleFailed")
    assert failed["message"] == f"TrainingJob {scaled.world.namespace}/{NAME} is being deleted"
    await scaled.world.client.patch(TRAININGJOBS, scaled.world.key(NAME), {"metadata": {"finalizers": None}})


async def test_jobs_of_one_name_in_two_namespaces_keep_to_themselves(api_server: Server, world: World) -> None:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(api_server.transport()))
        name = f"{world.namespace}-b"
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", name)))
        with_account = SERVICEACCOUNTS.describe(Key(name, "default"))
        await client.create(SERVICEACCOUNTS, with_account)
        other = await stack.enter_async_context(World(api_server, client, name))
        await world.start(namespace="", kinds=("TrainingJob",))
        await stack.enter_async_context(moving(world, other))
        here, there = ScaledJob(world), ScaledJob(other)
        await asyncio.gather(here.running(3), there.running(3))
        await asyncio.gather(here.scale_out("change", 1), there.scale_in("change", 2))
        await here.until(SCALE_OUTS, "change", "ScaleSucceeded")
        await there.until(SCALE_INS, "change", "ScaleSucceeded")
        await here.until_listed(0, 1, 2, 3)
        await there.until_listed(0)
        await there.scale_out("waits", 1)
        assert (await here.size(), await here.workers()) == (4, [f"{NAME}-worker-{index}" for index in range(4)])
        with pytest.raises(errors.NotFound):
            await world.get(SCALE_OUTS, "waits")


def _ask(happened: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        return happened()

    return ask
