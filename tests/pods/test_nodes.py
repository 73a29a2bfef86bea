# SPDX-License-Identifier: Apache-2.0
"""Nodes as people handle them: cordon, drain, taint, top; and who is placed where."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from tests.pods.clusters import Cluster
from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import Space, condition

from springtide.kube.request import Scope
from springtide.kube.resources import DEPLOYMENTS, NODES, PODS, Key


@pytest.fixture(autouse=True)
def _tidy(embedded: Cluster, space: Space) -> Iterator[None]:
    """These tests turn whole nodes away from their work: not on a cluster that belongs to somebody else."""
    yield
    for node in ("one", "two"):
        space.kubectl.run("uncordon", node)
        space.kubectl.run("taint", "node", node, "test-")


async def test_nodes_say_what_they_are(space: Space) -> None:
    node = await space.client.get(NODES, Key("", "one"))
    conditions = {one["type"]: one["status"] for one in node["status"]["conditions"]}
    assert conditions == {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
    assert node["status"]["capacity"]["cpu"] == "8"
    assert node["status"]["allocatable"]["example.com/thing"] == "4"
    assert {one["type"] for one in node["status"]["addresses"]} == {"InternalIP", "Hostname"}
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "one"
    assert node["status"]["nodeInfo"]["operatingSystem"] == "linux"


async def test_a_cordoned_node_takes_no_new_pods(space: Space) -> None:
    space.kubectl("cordon", "one")
    seen = await space.start(pod(sh(WAIT)))
    assert seen["spec"]["nodeName"] == "two"
    await space.create(pod(sh(WAIT), name="q", nodeSelector={"kubernetes.io/hostname": "one"}))
    seen = await space.until("q", lambda seen: "message" in condition(seen, "PodScheduled"))
    assert condition(seen, "PodScheduled")["message"].startswith("0/2 nodes are available: ")
    assert "1 node(s) were unschedulable" in condition(seen, "PodScheduled")["message"]
    space.kubectl("uncordon", "one")
    await space.ready("q")


async def test_draining_moves_a_deployment_s_pods(space: Space) -> None:
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [sh(WAIT)], "terminationGracePeriodSeconds": 5}}
    deployment = DEPLOYMENTS.describe(space.key("d"))
    deployment["spec"] = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    await space.client.create(DEPLOYMENTS, deployment)
    space.kubectl("rollout", "status", "deployment/d", "--timeout=25s")
    said = space.kubectl("drain", "one", "--ignore-daemonsets", "--delete-emptydir-data", "--force")
    assert "drained" in said
    space.kubectl("rollout", "status", "deployment/d", "--timeout=25s")
    pods = (await space.client.list(PODS, Scope(space.name, labels="app=x"))).items
    alive = [one for one in pods if not one["metadata"].get("deletionTimestamp")]
    assert [one["spec"]["nodeName"] for one in alive] == ["two"] * 3


async def test_a_taint_keeps_pods_away_unless_they_tolerate_it(space: Space) -> None:
    space.kubectl("taint", "node", "one", "test=yes:NoSchedule")
    toleration = {"key": "test", "operator": "Exists"}
    here = {"kubernetes.io/hostname": "one"}
    await space.create(pod(sh(WAIT), name="no", nodeSelector=here))
    await space.start(pod(sh(WAIT), name="yes", nodeSelector=here, tolerations=[toleration]))
    seen = await space.until("no", lambda seen: "message" in condition(seen, "PodScheduled"))
    assert "1 node(s) had untolerated taint(s)" in condition(seen, "PodScheduled")["message"]


async def test_a_taint_may_drive_pods_away(space: Space) -> None:
    seen = await space.start(pod(sh(WAIT)))
    space.kubectl("taint", "node", seen["spec"]["nodeName"], "test=yes:NoExecute")
    await space.gone()


async def test_things_are_counted(space: Space) -> None:
    def wants(count: str) -> dict[str, object]:
        return {"limits": {"example.com/thing": count}}

    seen = await space.start(pod(sh(WAIT, resources=wants("3")), name="a"))
    assert seen["spec"]["nodeName"] == "one"
    await space.create(pod(sh(WAIT, resources=wants("2")), name="b"))
    seen = await space.until("b", lambda seen: "message" in condition(seen, "PodScheduled"))
    assert "Insufficient example.com/thing" in condition(seen, "PodScheduled")["message"]
    await space.delete("a")
    await space.ready("b")


async def test_top_shows_what_is_used(space: Space) -> None:
    busy = "food = bytearray(b'x' * 50_000_000)\nwhile True: pass"
    await space.start(pod(py(busy)))

    async def top() -> str:
        return space.kubectl.run("top", "pod", "p", "--no-headers").stdout

    def is_busy(shown: str) -> bool:
        return len(shown.split()) == 3 and int(shown.split()[1].removesuffix("m")) > 100

    assert await is_shown_soon(top)
    line = await space.eventually(top, is_busy)
    name, _, memory = line.split()
    assert name == "p"
    assert int(memory.removesuffix("Mi")) > 40
    assert "main" in space.kubectl("top", "pod", "p", "--containers")
    assert {each.split()[0] for each in space.kubectl("top", "node", "--no-headers").splitlines()} == {"one", "two"}


async def is_shown_soon(top: Callable[[], Awaitable[str]]) -> bool:
    """Whether one of five looks, a second apart, has figures: whoever looks has the nodes scraped, so that no figures
    wait for the regular scrape, every 15 seconds. Looks are counted, not seconds: on a busy machine each takes longer.
    """
    for _ in range(5):
        if await top():
            return True
        await asyncio.sleep(1)
    return False
