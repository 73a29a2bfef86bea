# SPDX-License-Identifier: Apache-2.0
"""Several operators, of which one acts."""

from __future__ import annotations

from functools import partial

import pytest
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import ELASTIC, NAME, V1, World, job

from springtide.controllers import operator
from springtide.kube.leader import LeaderElector, Terms
from springtide.kube.resources import LEASES

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHORT = Terms(duration=2, renew_deadline=1.0, retry=0.2)
LONG = Terms(duration=30, renew_deadline=20, retry=0.2)
"""Where no lease is to run out, not even on a busy machine."""
STEADY = {"springtide.dev/drain-seconds": "0"}


@pytest.fixture
def terms() -> Terms:
    return SHORT


@pytest.fixture(autouse=True)
def electing(monkeypatch: pytest.MonkeyPatch, terms: Terms) -> None:
    monkeypatch.setattr(operator, "LeaderElector", partial(LeaderElector, terms=terms))


async def _two(world: World) -> tuple[Wire, Wire]:
    """The first leads."""
    wires = [Wire(world.server.transport()), Wire(world.server.transport())]
    for number, wire in enumerate(wires):
        await world.start(wire, leader_elect=True, lock_namespace=world.namespace, identity=f"operator-{number}")
        await world.until(lambda: _leader(world), bool)
    return wires[0], wires[1]


async def _leader(world: World) -> str:
    lease = await world.find(LEASES, operator.LEASE)
    return str(lease["spec"].get("holderIdentity", "")) if lease else ""


@pytest.mark.parametrize("terms", [LONG], ids=["long"])
async def test_only_the_leader_acts(world: World) -> None:
    leader, other = await _two(world)
    await world.running(job(V1))
    await world.quiet()
    assert await _leader(world) == "operator-0"
    assert leader.writes
    assert other.writes == []


async def test_when_the_leader_dies_the_other_goes_on(world: World) -> None:
    leader, other = await _two(world)
    await world.submit(job(V1))
    await world.until_event("MPIJobCreated")
    await world.kill(leader)
    await world.workers_run(2)
    await world.launcher_runs()
    await world.until_condition("Running")
    assert await _leader(world) == "operator-1"
    assert other.writes
    await world.until(world.told, lambda found: found == {"MPIJobCreated": 1, "MPIJobRunning": 1})


@pytest.mark.parametrize("terms", [LONG], ids=["long"])
async def test_a_leader_that_is_told_to_end_hands_over(world: World) -> None:
    leader, _ = await _two(world)
    await world.stop(leader)
    await world.until(lambda: _leader(world), lambda name: name == "operator-1")


async def test_a_leader_that_cannot_renew_stops_before_the_other_begins(world: World) -> None:
    """It can still write all the rest, and there is always something to do."""
    leader, other = await _two(world)
    await world.running(job(V1, command=ELASTIC, annotations=STEADY))

    async def restless() -> None:
        while True:
            for size in (2, 3, 4):
                await world.resize(size)
                await world.everything_moves()

    async with meanwhile(restless()):
        leader.refuses = "/leases"
        await world.until(lambda: _leader(world), lambda name: name == "operator-1")
        await world.until(lambda: _count(other), bool)
    # Numbers of the resource versions that came of their writes: all of the first come before all of the second.
    assert max(_versions(leader)) < min(_versions(other))
    assert f"{NAME}-worker-0" in await world.workers()


async def _count(wire: Wire) -> int:
    return len(wire.writes)


def _versions(wire: Wire) -> list[int]:
    written = (write.answer.get("metadata", {}).get("resourceVersion") for write in wire.writes)
    return [int(version) for version in written if version]
