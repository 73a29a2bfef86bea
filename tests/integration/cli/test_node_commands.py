# SPDX-License-Identifier: Apache-2.0
"""`tide node` on a cluster whose agents are played: they only report that they are ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.integration.patience import until

from springtide.cli.app import tide
from springtide.cli.places import program
from springtide.kube.client import Client
from springtide.kube.resources import CONFIGMAPS, NODES, PODDISRUPTIONBUDGETS, PODS, SERVICEACCOUNTS, Key, Obj
from springtide.local.cluster import Options, running
from springtide.local.supervisor.nodes.nodes import keep_nodes

PATIENCE = 30.0


class Cluster:
    def __init__(self, path: Path, client: Client) -> None:
        self.path, self.client = path, client
        self.done: list[str] = []

    async def tide(self, *arguments: str) -> Result:
        command = ["node", *arguments, "--data-dir", str(self.path)]
        result = await asyncio.to_thread(CliRunner().invoke, tide, command)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    async def ok(self, *arguments: str) -> str:
        result = await self.tide(*arguments)
        assert result.exit_code == 0, result.output
        return result.output

    async def error(self, *arguments: str) -> str:
        result = await self.tide(*arguments)
        assert result.exit_code == 1, result.output
        return result.output

    async def pod(self, name: str, node: str, *, owned: bool = True, **metadata: Any) -> None:
        obj = PODS.describe(Key("default", name))
        obj["metadata"] |= {"ownerReferences": [await self.owner()] if owned else [], **metadata}
        obj["spec"] = {
            "nodeName": node,
            "containers": [{"name": "c", "image": "i"}],
            "terminationGracePeriodSeconds": 0,
        }
        await self.client.create(PODS, obj)
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"phase": "Running", "conditions": [ready]}
        await self.client.patch(PODS, Key("default", name), {"status": status}, subresource="status")

    async def owner(self) -> Obj:
        """Something that manages pods; it must be there, or they would be collected."""
        key = Key("default", "owner")
        found = await self.client.find(CONFIGMAPS, key) or await self.client.create(
            CONFIGMAPS, CONFIGMAPS.describe(key)
        )
        named = {part: found["metadata"][part] for part in ("name", "uid")}
        return {"apiVersion": "v1", "kind": "ConfigMap", "controller": True, **named}

    async def pods(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in (await self.client.list(PODS)).items}

    # The agents' part

    async def start(self, name: str) -> None:
        self.done.append(f"start {name}")
        status = {
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}],
            "allocatable": {"cpu": "8", "pods": "250"},
            "capacity": {"cpu": "8", "pods": "250"},
        }
        await self.client.patch(NODES, Key("", name), {"status": status}, subresource="status")

    async def stop(self, name: str) -> None:
        self.done.append(f"stop {name}")

    async def kill(self, name: str) -> None:
        self.done.append(f"kill {name}")


@asynccontextmanager
async def a_cluster(path: Path) -> AsyncIterator[Cluster]:
    async with running(Options(path, port=0)) as embedded:
        cluster = Cluster(path, embedded.client("tester"))
        task = asyncio.create_task(keep_nodes(cluster.client, cluster.start, cluster.stop, cluster.kill))
        account = Key("default", "default")
        await until(lambda: cluster.client.find(SERVICEACCOUNTS, account), bool, PATIENCE)
        try:
            yield cluster
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def node(cluster: Cluster, name: str) -> Obj:
    return await cluster.client.get(NODES, Key("", name))


async def test_nodes_are_added_shown_cordoned_and_removed(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as cluster:
        assert "There are no nodes." in await cluster.ok("list")
        said = await cluster.ok("add", "a=cpu:8,spot", "b")
        assert said.splitlines()[-1] == "Node 'b' is ready."
        shown = (await cluster.ok("list")).splitlines()
        assert shown[0].split() == ["NAME", "STATE", "SPOT", "CAPACITY", "USED", "PODS"]
        assert shown[1].split() == ["a", "Ready", "spot", "cpu", "8", "-", "0/250"]
        assert await cluster.ok("cordon", "a") == "Node 'a' takes no new pods.\n"
        assert "Ready, cordoned" in await cluster.ok("list")
        assert (await node(cluster, "a"))["spec"]["unschedulable"] is True
        assert await cluster.ok("uncordon", "a") == "Node 'a' takes pods again.\n"
        assert "unschedulable" not in (await node(cluster, "a"))["spec"]
        assert (await cluster.ok("remove", "a")).splitlines() == ["Node 'a' is removed."]
        assert await cluster.client.find(NODES, Key("", "a")) is None


async def test_mistakes_are_explained(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as cluster:
        await cluster.ok("add", "a")
        first = f"there is a node 'a' already\nRemove it first: {program()} node remove a"
        assert first in await cluster.error("add", "a")
        assert "'32Gb' is no amount" in await cluster.error("add", "b=memory:32Gb")
        for command in ("cordon", "drain", "remove", "reclaim"):
            assert "there is no node 'x'\nNodes: a" in await cluster.error(command, "x")
        await cluster.client.create(NODES, NODES.describe(Key("", "far")))
        assert "is not one of this machine's" in await cluster.error("reclaim", "far")
        result = await cluster.tide("reclaim", "a", "--notice", "soon")
        assert result.exit_code == 2
        assert "write it like 30s, 2m or 1h30m" in result.output


async def test_a_cluster_that_does_not_run(tmp_path: Path) -> None:
    result = await asyncio.to_thread(CliRunner().invoke, tide, ["node", "list", "--data-dir", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert f"Start it with: {program()} up -d" in result.output


async def test_a_drained_node_is_empty(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as cluster:
        await cluster.ok("add", "a", "b")
        for name, place in (("p", "a"), ("q", "a"), ("r", "b")):
            await cluster.pod(name, place)
        said = (await cluster.ok("drain", "a")).splitlines()
        assert said[-1] == "Node 'a' is drained."
        assert {"default/p is evicted", "default/q is evicted", "default/p is gone", "default/q is gone"} < set(said)
        assert await cluster.pods() == {"r"}
        assert (await node(cluster, "a"))["spec"]["unschedulable"] is True


async def test_a_pod_that_nobody_would_make_again_is_not_evicted_unless_forced(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as cluster:
        await cluster.ok("add", "a")
        await cluster.pod("alone", "a", owned=False)
        assert "no controller would create these pods again: default/alone" in await cluster.error("drain", "a")
        assert await cluster.pods() == {"alone"}
        assert "tide node remove a --force" in await cluster.error("remove", "a")
        await cluster.ok("drain", "a", "--force", "--grace", "0")
        assert await cluster.pods() == set()


@pytest.mark.parametrize("way", ["wait", "give up"])
async def test_a_drain_respects_disruption_budgets(tmp_path: Path, way: str) -> None:
    async with a_cluster(tmp_path) as cluster:
        await cluster.ok("add", "a")
        await cluster.pod("p", "a", labels={"app": "x"})
        budget = PODDISRUPTIONBUDGETS.describe(Key("default", "budget"))
        budget["spec"] = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
        await cluster.client.create(PODDISRUPTIONBUDGETS, budget)
        key = Key("default", "budget")

        async def is_counted() -> Obj:
            return await cluster.client.get(PODDISRUPTIONBUDGETS, key)

        await until(is_counted, lambda found: found.get("status", {}).get("currentHealthy") == 1, PATIENCE)
        if way == "give up":
            said = await cluster.error("drain", "a", "--timeout", "0.1s")
            assert "default/p must wait: Cannot evict pod as it would violate the pod's disruption budget." in said
            assert "node 'a' still has pods: default/p" in said
            return
        draining = asyncio.create_task(cluster.ok("drain", "a"))
        await until(lambda: node(cluster, "a"), lambda found: found["spec"].get("unschedulable"), PATIENCE)
        await cluster.client.delete(PODDISRUPTIONBUDGETS, key)
        assert "default/p is gone" in await draining


async def test_a_reclaimed_node_is_gone_with_its_pods(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as cluster:
        await cluster.ok("add", "a=spot", "b")
        await cluster.pod("p", "a")
        await cluster.pod("q", "b")
        said = await cluster.ok("reclaim", "a", "--notice", "1s")
        assert said == "Node 'a' will be gone in 1 s.\nNode 'a' is gone, and 1 pod with it.\n"
        assert cluster.done[-1] == "kill a"
        await until(cluster.pods, lambda found: found == {"q"}, PATIENCE)
        await cluster.ok("reclaim", "b", "--notice", "1h", "--no-wait")
        assert "reclaimed in" in await cluster.ok("list")
