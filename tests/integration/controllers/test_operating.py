# SPDX-License-Identifier: Apache-2.0
"""A whole operator as `tide operator` runs it: what it answers on its ports while it works."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.integration.controllers.world import ELASTIC, MPIJOBS, NAME, PATIENCE, V1, World, job
from tests.integration.patience import until

from springtide.controllers import operator
from springtide.controllers.options import Options
from springtide.controllers.serving import PortError
from springtide.kube.resources import LEASES, Key, Resource

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATED = "mpi_operator_jobs_created_total"
DELETED = "training_operator_jobs_deleted_total"
LAUNCHER = "mpi_operator_job_info"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@asynccontextmanager
async def operating(world: World, **more: Any) -> AsyncIterator[Options]:
    options = Options(
        kubeconfig=world.server.kubeconfig,
        namespace=world.namespace,
        lock_namespace=world.namespace,
        health_port=free_port(),
        metrics_port=free_port(),
        **more,
    )
    task = asyncio.create_task(operator.run(options))
    try:
        yield options
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def asked(port: int | None, path: str) -> tuple[int, str]:
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, await answer.text()
    except aiohttp.ClientConnectorError:
        return 0, ""


async def figures(options: Options) -> dict[str, float]:
    """Sums over all labels."""
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families((await asked(options.metrics_port, "/metrics"))[1]):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0) + sample.value
    return sums


async def until_ready(options: Options) -> None:
    async def ready() -> bool:
        return (await asked(options.health_port, "/readyz"))[0] == 200

    await until(ready, bool, PATIENCE)


async def test_it_counts_a_job_once_however_often_it_starts(world: World) -> None:
    async with operating(world) as options:
        await until_ready(options)
        assert await asked(options.health_port, "/healthz") == (200, "ok\n")
        await world.submit(job())
        # The cache may know of a status before whoever wrote it has been answered.
        found = await until(lambda: figures(options), lambda it: it.get(LAUNCHER) and it.get(CREATED), PATIENCE)
        assert found[CREATED] == 1
        assert found["mpi_operator_is_leader"] == 1
        assert found["springtide_workers_wanted"] == 2
        assert found["springtide_reconciles_total"] >= 1
        assert found["springtide_api_requests_total"] > 10
    async with operating(world) as options:
        await until_ready(options)
        found = await until(lambda: figures(options), lambda found: found.get(LAUNCHER), PATIENCE)
        assert found[CREATED] == 0
        await world.client.delete(MPIJOBS[V1], Key(world.namespace, NAME))
        await until(lambda: figures(options), lambda found: LAUNCHER not in found and found.get(DELETED) == 1, PATIENCE)


async def test_a_resize_is_counted_when_it_is_asked_for_and_timed_when_it_is_done(world: World) -> None:
    async with operating(world) as options:
        await world.running(job(command=ELASTIC))
        await world.resize(3)
        found = await until(lambda: figures(options), lambda it: it.get("springtide_resizes_total"), PATIENCE)
        assert "springtide_resize_seconds_count" not in found
        await world.workers_run(3)
        await until(lambda: figures(options), lambda it: it.get("springtide_resize_seconds_count") == 1, PATIENCE)
        await world.resize(1)
        await world.until_workers(0)
        await world.kubelet.end()
        await until(lambda: figures(options), lambda it: it.get("springtide_resize_seconds_count") == 2, PATIENCE)
        assert (await figures(options))["springtide_resizes_total"] == 2


async def test_one_that_does_not_lead_is_ready_and_says_so(world: World) -> None:
    async with operating(world, identity="first") as first:
        await until(lambda: figures(first), lambda found: found.get("mpi_operator_is_leader"), PATIENCE)
        async with operating(world, identity="second") as second:
            await until_ready(second)
            assert (await figures(second))["mpi_operator_is_leader"] == 0
    lease = await world.client.get(LEASES, Key(world.namespace, "mpi-operator"))
    assert not lease["spec"].get("holderIdentity")


async def test_a_limit_slows_it_down_but_not_its_lease(world: World) -> None:
    async with operating(world, qps=1.0, burst=1) as options:
        await until(lambda: figures(options), lambda found: found.get("mpi_operator_is_leader"), PATIENCE)


async def test_a_port_that_is_taken_ends_it(world: World) -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        options = Options(kubeconfig=world.server.kubeconfig, health_port=other.getsockname()[1])
        with pytest.raises(PortError, match="--health-port PORT"):
            await operator.run(options)


async def test_of_other_kinds_than_those_it_serves_it_takes_no_notice(world: World) -> None:
    tfjobs = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "train:1"}]}}
    tfjob = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": NAME, "namespace": world.namespace},
        "spec": {"tfReplicaSpecs": {"Worker": {"template": template}}},
    }
    async with operating(world, kinds=("TFJob",)) as options:
        await world.submit(job())
        await world.client.create(tfjobs, tfjob)

        async def created() -> bool:
            return bool((await world.client.get(tfjobs, Key(world.namespace, NAME))).get("status"))

        await until(created, bool, PATIENCE)
        assert not (await world.client.get(MPIJOBS[V1], Key(world.namespace, NAME))).get("status")
        sums = text_string_to_metric_families((await asked(options.metrics_port, "/metrics"))[1])
        assert {each.labels["kind"] for family in sums for each in family.samples if "kind" in each.labels} == {"TFJob"}
