# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.local.apiserver.builders import a_call, a_resource, put

from springtide.local import status
from springtide.local.apiserver.context import StoreReader
from springtide.local.apiserver.nodes.resource_metrics import ANSWER_WITHIN, FORGET_AFTER, ResourceMetrics, Usage, parse
from springtide.local.apiserver.replies import Reply
from springtide.local.store.opening import open_store

NODES, PODS = a_resource("nodes"), a_resource("pods")
NODE_METRICS = a_resource("nodes", "metrics.k8s.io", "v1beta1")
POD_METRICS = a_resource("pods", "metrics.k8s.io", "v1beta1")
START = 1_767_225_600.0  # 2026-01-01


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("", {}),
        ("# HELP node_cpu_usage_seconds_total x\n", {}),
        ("node_cpu_usage_seconds_total 1.5 2000", {("", "", ""): Usage(1.5, 0, 2.0)}),
        ("node_cpu_usage_seconds_total 1.5", {("", "", ""): Usage(1.5, 0, 9.0)}),
        ("node_memory_working_set_bytes 1e+06 2000", {("", "", ""): Usage(0, 1e6, 0)}),
        (
            'container_cpu_usage_seconds_total{container="c",namespace="n",pod="p"} 3 4000\n'
            'container_memory_working_set_bytes{pod="p",namespace="n",container="c"} 512 4000\n',
            {("n", "p", "c"): Usage(3, 512, 4.0)},
        ),
        ('container_start_time_seconds{container="c",namespace="n",pod="p"} 7', {("n", "p", "c"): Usage(started=7.0)}),
        ("pod_cpu_usage_seconds_total 1 1\nscrape_error 0\nnonsense\nnode_cpu_usage_seconds_total NaN", {}),
    ],
)
def test_the_text_of_a_node_is_read(text: str, readings: object) -> None:
    assert parse(text, 9.0) == readings


async def never(node: Any) -> str:
    await asyncio.Event().wait()
    return ""


class World:
    """One node whose counters grow as told."""

    def __init__(self, metrics: Callable[[Any, Callable[[], float]], ResourceMetrics]) -> None:
        self.now, self.cpu, self.broken = START, 10.0, False
        self.started, self.scrapes = 0.0, 0
        self.metrics = metrics(self.fetch, lambda: self.now)

    async def fetch(self, node: Any) -> str:
        if self.broken:
            raise status.unavailable("gone")
        self.scrapes += 1
        owner = '{container="c",namespace="ns",pod="p"}'
        return (
            f"node_cpu_usage_seconds_total {self.cpu}\nnode_memory_working_set_bytes 2097152\n"
            f"container_cpu_usage_seconds_total{owner} {self.cpu}\ncontainer_memory_working_set_bytes{owner} 1048576\n"
            + (f"container_start_time_seconds{owner} {self.started}\n" if self.started else "")
        )

    async def scrape(self, after: float = 10.0, used: float = 2.0) -> None:
        self.now += after
        self.cpu += used
        await self.metrics.scrape()


@pytest.fixture
async def world() -> World:
    store = await open_store(None)
    await put(store, NODES, "n")
    spec = {"nodeName": "n", "containers": [{"name": "c"}, {"name": "unknown"}]}
    await put(store, PODS, "p", "ns", metadata={"labels": {"app": "web"}}, spec=spec)
    return World(lambda fetch, clock: ResourceMetrics(StoreReader(store), fetch, clock))


async def listed(world: World, query: str = "", namespace: str = "ns") -> list[Any]:
    answer = await world.metrics.pod_metrics(None, a_call(POD_METRICS, query, namespace))  # type: ignore[arg-type]
    assert isinstance(answer, Reply)
    return list(json.loads(answer.body)["items"])


async def test_one_scrape_is_no_rate(world: World) -> None:
    await world.scrape()
    assert await listed(world) == []


async def test_two_scrapes_make_a_rate(world: World) -> None:
    await world.scrape()
    await world.scrape(after=10.0, used=2.5)
    assert await listed(world) == [
        {
            "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web"}},
            "timestamp": "2026-01-01T00:00:20Z",
            "window": "10.000s",
            "containers": [{"name": "c", "usage": {"cpu": "250000000n", "memory": "1024Ki"}}],
        }
    ]


async def test_a_young_container_is_measured_since_its_start(world: World) -> None:
    world.started, world.cpu = START + 8, 0.0
    await world.scrape(after=10.0, used=1.0)
    (pod,) = await listed(world)
    assert (pod["window"], pod["containers"][0]["usage"]["cpu"]) == ("2.000s", "500000000n")


@pytest.mark.parametrize("age", [0.4, 61.0])
async def test_one_scrape_is_no_rate_of_a_container_that_has_just_started_or_long_ago(world: World, age: float) -> None:
    world.started = START + 10 - age
    await world.scrape(after=10.0)
    assert await listed(world) == []


async def test_what_another_container_of_that_name_used_does_not_count(world: World) -> None:
    world.started = START
    await world.scrape()
    world.started, world.cpu = START + 15, 0.0
    await world.scrape(after=10.0, used=1.0)
    (pod,) = await listed(world)
    assert (pod["window"], pod["containers"][0]["usage"]["cpu"]) == ("5.000s", "200000000n")


async def test_rates_are_taken_over_ten_seconds_however_often_nodes_are_scraped(world: World) -> None:
    for _ in range(20):
        await world.scrape(after=2.0, used=1.0)
        for readings in world.metrics._nodes.values():
            assert len(readings.history) <= 6
    assert (await listed(world))[0]["window"] == "10.000s"


@asynccontextmanager
async def scraped(world: World) -> AsyncIterator[None]:
    """With nodes being scraped regularly, by the clock of the loop; the first time is over."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    world.metrics._clock = lambda: START + loop.time() - begun
    running = asyncio.create_task(world.metrics.run())
    await asyncio.wait_for(world.metrics._done.wait(), 1)
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.looptime
async def test_who_asks_gets_recent_numbers(world: World) -> None:
    async with scraped(world):
        before = world.scrapes
        world.started = START + 0.5
        await asyncio.sleep(5)
        (pod,) = await listed(world)
        assert pod["window"] == "4.500s"
        await asyncio.gather(*(listed(world) for _ in range(50)))
        assert world.scrapes == before + 1


@pytest.mark.looptime
async def test_who_asks_for_a_node_that_was_scraped_once_gets_its_numbers_after_the_second_time(world: World) -> None:
    async with scraped(world):
        answer = await world.metrics.node_metrics(None, a_call(NODE_METRICS))  # type: ignore[arg-type]
        assert isinstance(answer, Reply)
        assert [item["window"] for item in json.loads(answer.body)["items"]] == ["1.100s"]


@pytest.mark.looptime
async def test_who_asks_does_not_wait_for_a_node_that_never_answers(world: World) -> None:
    async with scraped(world):
        await asyncio.sleep(20)
        world.metrics._fetch = never
        await asyncio.sleep(5)
        assert await asyncio.wait_for(listed(world), ANSWER_WITHIN + 0.1)


async def test_a_node_is_told_by_name(world: World) -> None:
    await world.scrape()
    await world.scrape()
    answer = await world.metrics.node_metrics(None, a_call(NODE_METRICS, name="n"))  # type: ignore[arg-type]
    assert isinstance(answer, Reply)
    assert json.loads(answer.body)["usage"] == {"cpu": "200000000n", "memory": "2048Ki"}


async def test_a_counter_that_began_anew_is_no_negative_rate(world: World) -> None:
    await world.scrape()
    await world.scrape(used=-5.0)
    assert (await listed(world))[0]["containers"][0]["usage"]["cpu"] == "0n"


async def test_a_node_that_stops_answering_is_forgotten_after_a_minute(world: World) -> None:
    await world.scrape()
    await world.scrape()
    world.broken = True
    await world.scrape(after=FORGET_AFTER - 1)
    assert await listed(world)
    await world.scrape(after=2)
    assert await listed(world) == []


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("labelSelector=app%3Dweb", 1),
        ("labelSelector=app%3Dother", 0),
        ("fieldSelector=metadata.name%3Dp", 1),
        ("fieldSelector=metadata.name%3Dq", 0),
    ],
)
async def test_selectors_choose(world: World, query: str, count: int) -> None:
    await world.scrape()
    await world.scrape()
    assert len(await listed(world, query)) == count


async def test_a_selector_that_cannot_be_read_is_a_bad_request(world: World) -> None:
    with pytest.raises(status.StatusError) as refused:
        await listed(world, "labelSelector=%3D%3D")
    assert refused.value.code == 400


async def test_a_pod_without_metrics_is_not_found(world: World) -> None:
    with pytest.raises(status.StatusError, match=r'pods\.metrics\.k8s\.io "p" not found'):
        await world.metrics.pod_metrics(None, a_call(POD_METRICS, namespace="ns", name="p"))  # type: ignore[arg-type]


@pytest.mark.looptime
async def test_a_node_that_never_answers_does_not_hold_up_the_others(world: World) -> None:
    world.metrics._fetch = never
    await asyncio.wait_for(world.metrics.scrape(), 30)


async def test_a_node_that_talks_nonsense_spoils_nothing_for_the_others() -> None:
    store = await open_store(None)
    await put(store, NODES, "odd")

    async def fetch(node: Any) -> str:
        return "node_cpu_usage_seconds_total 1.2.3"

    await ResourceMetrics(StoreReader(store), fetch).scrape()
