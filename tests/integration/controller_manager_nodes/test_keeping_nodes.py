# SPDX-License-Identifier: Apache-2.0
"""Node objects as orders for agents: started, stopped, reclaimed. The agents are only written down here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.resources import EVENTS, NODES, Key, Obj
from springtide.local.cluster import Options, running
from springtide.local.supervisor.nodes.node_specs import RECLAIM_AT, default, parse
from springtide.local.supervisor.nodes.nodes import ensure_nodes, keep_nodes

PATIENCE = 10.0


class Agents:
    """What was done about them, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def act(self, what: str) -> Callable[[str], Awaitable[None]]:
        async def act(name: str) -> None:
            self.done.append(f"{what} {name}")

        return act

    async def until(self, *expected: str) -> None:
        async def done() -> list[str]:
            return sorted(self.done)

        await until(done, lambda found: found == sorted(expected), PATIENCE)


@asynccontextmanager
async def a_cluster(path: Path) -> AsyncIterator[Client]:
    async with running(Options(path, port=0, controllers=False)) as cluster:
        yield cluster.client("tester")


@asynccontextmanager
async def kept(client: Client, *left: str) -> AsyncIterator[Agents]:
    agents = Agents()
    task = asyncio.create_task(keep_nodes(client, agents.act("start"), agents.act("stop"), agents.act("kill"), left))
    try:
        yield agents
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def names(client: Client) -> set[str]:
    return {node["metadata"]["name"] for node in (await client.list(NODES)).items}


async def until_node(client: Client, name: str, accept: Callable[[Obj | None], object]) -> None:
    await until(lambda: client.find(NODES, Key("", name)), accept, PATIENCE)


async def test_every_local_node_gets_a_number_and_an_agent(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client, kept(client) as agents:
        for name in ("a", "b", "c"):
            await client.create(NODES, parse(name))
        await client.create(NODES, NODES.describe(Key("", "not-ours")))
        await agents.until("start a", "start b", "start c")
        nodes = [node for node in (await client.list(NODES)).items if node["metadata"]["name"] != "not-ours"]
        ranges = {
            node["metadata"]["annotations"]["springtide.dev/node-index"]: node["spec"]["podCIDR"] for node in nodes
        }
        assert ranges == {str(number): f"10.244.{number}.0/24" for number in (1, 2, 3)}


async def test_an_agent_stops_with_its_node_and_starts_with_a_new_one(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client, kept(client) as agents:
        await client.create(NODES, parse("a"))
        await agents.until("start a")
        await client.delete(NODES, Key("", "a"))
        await agents.until("start a", "stop a")
        await client.create(NODES, parse("a"))
        await agents.until("start a", "stop a", "start a")


async def test_a_reclaimed_node_is_announced_killed_and_deleted(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client, kept(client) as agents:
        await client.create(NODES, parse("a=spot"))
        await agents.until("start a")
        at = datetime.now(UTC) + timedelta(hours=1)
        await client.patch(NODES, Key("", "a"), {"metadata": {"annotations": {RECLAIM_AT: at.isoformat()}}})
        taint = {"key": "springtide.dev/reclaim", "effect": "NoSchedule"}
        await until_node(client, "a", lambda node: node and taint in node["spec"]["taints"])

        async def reasons() -> list[str]:
            return [event["reason"] for event in (await client.list(EVENTS)).items]

        await until(reasons, lambda found: found == ["Reclaim"], PATIENCE)
        assert agents.done == ["start a"]
        await client.patch(NODES, Key("", "a"), {"metadata": {"annotations": {RECLAIM_AT: "2026-01-01T00:00:00Z"}}})
        await until_node(client, "a", lambda node: node is None)
        assert agents.done == ["start a", "kill a"]
        await until(reasons, lambda found: found == ["Reclaim", "Reclaimed"], PATIENCE)


async def test_a_withdrawn_reclaim_takes_the_taint_off(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client, kept(client) as agents:
        node = parse("a=taint:k:NoSchedule")
        node["metadata"]["annotations"] = {RECLAIM_AT: "2999-01-01T00:00:00Z"}
        await client.create(NODES, node)
        await until_node(client, "a", lambda node: node and len(node["spec"]["taints"]) == 3)
        await client.patch(NODES, Key("", "a"), {"metadata": {"annotations": {RECLAIM_AT: None}}})
        await until_node(client, "a", lambda node: node and len(node["spec"]["taints"]) == 2)
        await agents.until("start a")


async def test_what_is_left_of_a_deleted_node_is_killed(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client:
        await client.create(NODES, parse("a"))
        async with kept(client, "a", "gone") as agents:
            await agents.until("start a", "kill gone")


async def test_nodes_outlive_the_supervisor_with_their_numbers(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client:
        await client.create(NODES, parse("a"))
        async with kept(client) as agents:
            await agents.until("start a")
        async with kept(client) as agents:
            await agents.until("start a")
            await client.create(NODES, parse("b"))
            await agents.until("start a", "start b")
        assert (await client.get(NODES, Key("", "b")))["spec"]["podCIDR"] == "10.244.2.0/24"


async def test_a_copy_of_a_node_does_not_get_its_addresses(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client:
        async with kept(client) as agents:
            await client.create(NODES, parse("a"))
            await agents.until("start a")
        original = await client.get(NODES, Key("", "a"))
        copy = parse("b") | {"spec": {"podCIDR": original["spec"]["podCIDR"]}}
        await client.create(NODES, copy)
        async with kept(client) as agents:

            async def complaints() -> list[str]:
                return [event["involvedObject"]["name"] for event in (await client.list(EVENTS)).items]

            await agents.until("start a")
            await until(complaints, lambda found: found == ["b"], PATIENCE)
            assert agents.done == ["start a"]


async def test_the_default_node_is_there_until_others_are_asked_for(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client:
        await ensure_nodes(client, [], default("laptop"))
        await ensure_nodes(client, [], default("renamed"))
        assert await names(client) == {"laptop"}
        await ensure_nodes(client, [parse("a=cpu:8,spot"), parse("b")], default("laptop"))
        assert await names(client) == {"a", "b"}
        await ensure_nodes(client, [], default("laptop"))
        assert await names(client) == {"a", "b"}


async def test_a_node_described_anew_changes_and_keeps_what_others_gave_it(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as client:
        await ensure_nodes(client, [parse("a=cpu:8,spot,taint:k:NoSchedule")], default("laptop"))
        await client.patch(NODES, Key("", "a"), {"metadata": {"labels": {"mine": "yes"}}})
        await ensure_nodes(client, [parse("a=cpu:4,taint:k=v:NoSchedule")], default("laptop"))
        node = await client.get(NODES, Key("", "a"))
        assert node["metadata"]["annotations"]["springtide.dev/capacity"] == '{"cpu": "4"}'
        assert "springtide.dev/spot" not in node["metadata"]["labels"]
        assert node["metadata"]["labels"]["mine"] == "yes"
        assert {"key": "k", "value": "v", "effect": "NoSchedule"} in node["spec"]["taints"]
