# SPDX-License-Identifier: Apache-2.0
"""Jobs that ask for more workers than may be, whoever asks and however."""

from __future__ import annotations

import pytest
from tests import loop_lag
from tests.integration.controllers.world import MPIJOBS, NAME, V1, V2, World, job

from springtide.kube import errors
from springtide.kube.resources import PODS

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST = 4


@pytest.mark.parametrize("version", [V1, V2])
async def test_no_job_has_more_workers_than_the_definition_allows(operated: World, version: str) -> None:
    with pytest.raises(errors.Invalid, match="should be less than or equal to 100000"):
        await operated.submit(job(version, workers=2**31 - 1))
    with pytest.raises(errors.Invalid, match="should be less than or equal to 100000"):
        await operated.submit(job(version, elasticPolicy={"minReplicas": 2**31 - 1}))


async def test_nor_by_its_scale(operated: World) -> None:
    await operated.submit(job())
    await operated.workers_run(2)
    with pytest.raises(errors.Invalid):
        await operated.patch({"spec": {"replicas": 2**31 - 1}}, subresource="scale")


async def test_a_job_above_the_operators_limit_is_told_so_and_others_run(world: World) -> None:
    await world.start(max_workers=MOST)
    large = job(workers=100_000)
    large["metadata"]["name"] = "large"
    async with loop_lag.measured() as lag:
        await world.submit(large)
        await world.submit(job())
        await world.workers_run(2)
        await world.launcher_runs()
    found = await world.get(MPIJOBS[V2], "large")
    (condition,) = (each for each in found["status"]["conditions"] if each["type"] == "TooManyWorkers")
    assert condition["status"] == "True"
    assert "100000 workers are requested, at most 4 are allowed: the job is not started" in condition["message"]
    assert (await world.until_event("AboveOperatorLimit"))["type"] == "Warning"
    assert all(name.startswith(NAME) for name in await world.all_of(PODS))
    assert lag.longest < loop_lag.MOST


async def test_a_job_that_was_scaled_above_the_limit_keeps_its_workers(world: World) -> None:
    await world.start(max_workers=MOST)
    await world.submit(job())
    await world.workers_run(2)
    await world.launcher_runs()
    await world.patch({"spec": {"replicas": 100_000}}, subresource="scale")
    condition = await world.until_condition("TooManyWorkers")
    assert "the job continues with 2" in condition["message"]
    await world.quiet()
    assert len(await world.workers()) == 2
    await world.resize(3)
    await world.until_condition("TooManyWorkers", "False")
    await world.until_workers(0, 1, 2)
