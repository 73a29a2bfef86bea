# SPDX-License-Identifier: Apache-2.0
"""Everything between the embedded server and a node, with neither end of it ours: kubectl here, KWOK there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.conformance.streams import kwok
from tests.conformance.streams.kubectl import PATIENCE, Kubectl, environment, forwarded_port, line_of, tool
from tests.integration.streams.test_streams import echo_server

from springtide.kube.client import Client
from springtide.kube.resources import DEPLOYMENTS, NODES, PODS, Key
from springtide.local.apiserver.nodes import resource_metrics
from springtide.local.cluster import Cluster, Options, running

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

POD = Key("default", "p")
AUTOSCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "busy"},
    "spec": {
        "minReplicas": 1,
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "busy"},
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            }
        ],
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def echo_port() -> AsyncIterator[int]:
    async with echo_server() as port:
        yield port


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kwok") / "terminal"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory, terminal: Path, echo_port: int) -> AsyncIterator[Cluster]:
    """One node and one pod, both played by KWOK."""
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(resource_metrics, "EVERY", 0.5)
        found = await stack.enter_async_context(running(Options(tmp_path_factory.mktemp("cluster"), port=0)))
        await stack.enter_async_context(kwok.kwok(found, terminal.parent, echo_port))
        client = found.client("tester")
        node = NODES.describe(Key("", kwok.NODE))
        node["metadata"]["annotations"] = {"metrics.k8s.io/resource-metrics-path": kwok.METRICS}
        await client.create(NODES, node)
        pod = {"nodeName": kwok.NODE, "containers": [{"name": "c", "image": "x"}]}
        await client.create(PODS, PODS.describe(POD) | {"spec": pod})
        await until(lambda: runs(client))
        yield found


async def runs(client: Client) -> bool:
    return bool((await client.get(PODS, POD)).get("status", {}).get("phase") == "Running")


async def until(holds: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> None:
    ends = asyncio.get_running_loop().time() + patience
    while not await holds():
        assert asyncio.get_running_loop().time() < ends, "it did not happen in time"
        await asyncio.sleep(0.05)


@pytest.fixture(params=["kubectl", "kubectl-old"])
def program(request: pytest.FixtureRequest) -> str:
    return tool(request.param)


@pytest.fixture
def kubectl(program: str, cluster: Cluster, tmp_path: Path) -> Kubectl:
    return Kubectl(program, environment(cluster.directory.kubeconfig, tmp_path, "true"))


@pytest.fixture(params=["websocket", "spdy"])
def streaming(request: pytest.FixtureRequest, program: str, cluster: Cluster, tmp_path: Path) -> Kubectl:
    websockets = "true" if request.param == "websocket" else "false"
    return Kubectl(program, environment(cluster.directory.kubeconfig, tmp_path, websockets))


async def test_the_node_is_ready(kubectl: Kubectl) -> None:
    code, out, _ = await kubectl("wait", f"node/{kwok.NODE}", "--for=condition=Ready", "--timeout=20s")
    assert (code, out) == (0, f"node/{kwok.NODE} condition met\n".encode())


async def test_logs(kubectl: Kubectl) -> None:
    assert await kubectl("logs", "p") == (0, b"".join(kwok.LINES), b"")


async def test_exec_gives_output_and_errors(streaming: Kubectl) -> None:
    """KWOK itself passes on neither exit codes nor the end of the input."""
    command = ("sh", "-c", "echo out; echo err >&2")
    assert await streaming("exec", "p", "--", *command) == (0, b"out\n", b"err\n")


async def test_attach_shows_what_the_container_writes(streaming: Kubectl, terminal: Path) -> None:
    process = await streaming.start("attach", "p")
    shown = asyncio.ensure_future(line_of(process))
    try:
        while not shown.done():  # nobody tells when the client is attached
            await asyncio.to_thread(write, terminal, b"hello\n")
            await asyncio.wait({shown}, timeout=0.1)
        assert await shown == b"hello\n"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def write(terminal: Path, line: bytes) -> None:
    with terminal.open("ab") as file:
        file.write(kwok.logged(line))


async def test_port_forward(streaming: Kubectl) -> None:
    process = await streaming.start("port-forward", "p", ":80")
    try:
        port = await forwarded_port(process)
        assert await asyncio.gather(*(echoed(port, b"x" * 100_000) for _ in range(4))) == [b"x" * 100_000] * 4
    finally:
        process.kill()
        await process.communicate()


async def echoed(port: int, content: bytes) -> bytes:
    """Without closing one's own end first: KWOK passes on no half-closed connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(content)
    try:
        return await asyncio.wait_for(reader.readexactly(len(content)), PATIENCE)
    finally:
        writer.close()


@pytest.mark.parametrize(("path", "answer"), [("healthz", b"ok"), (kwok.METRICS[1:], b"node_cpu_usage_seconds_total")])
async def test_the_node_is_reached_through_its_proxy(kubectl: Kubectl, path: str, answer: bytes) -> None:
    code, out, _ = await kubectl("get", "--raw", f"/api/v1/nodes/{kwok.NODE}/proxy/{path}")
    assert code == 0
    assert answer in out


async def test_top_tells_what_nodes_and_pods_use(kubectl: Kubectl) -> None:
    async def measured() -> bool:
        # KWOK's counter begins when it is first asked; a rate needs one more scrape.
        _, pods, _ = await kubectl("top", "pod", "--containers", "--no-headers")
        found = pods.decode().split()
        return found[:2] + found[3:] == ["p", "c", "32Mi"] and 150 <= int(found[2].removesuffix("m")) <= 250

    await until(measured)
    _, nodes, _ = await kubectl("top", "node", "--no-headers", "--show-capacity")
    assert nodes.decode().split()[0] == kwok.NODE


async def test_metrics_come_by_selector(kubectl: Kubectl) -> None:
    async def listed(query: str) -> list[Any]:
        _, out, _ = await kubectl("get", "--raw", f"/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?{query}")
        return list(json.loads(out)["items"])

    async def known() -> bool:
        return bool(await listed(""))

    await until(known)
    assert await listed("labelSelector=no%3Dsuch") == []


async def test_a_deleted_pod_goes_when_its_node_lets_it(kubectl: Kubectl, cluster: Cluster) -> None:
    client, key = cluster.client("tester"), Key("default", "short-lived")
    spec = {"nodeName": kwok.NODE, "containers": [{"name": "c", "image": "x"}]}
    await client.create(PODS, PODS.describe(key) | {"spec": spec})
    code, _, _ = await kubectl("delete", "pod", key.name, "--wait", "--timeout=20s")
    assert code == 0
    assert await client.find(PODS, key) is None


async def test_an_autoscaler_follows_what_its_pods_use(kubectl: Kubectl, cluster: Cluster) -> None:
    """Pods that use two tenths of a core where one was asked for: one replica becomes as many as are allowed."""
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}
    template = {"metadata": {"labels": {"app": "busy"}}, "spec": {"nodeName": kwok.NODE, "containers": [container]}}
    client, key = cluster.client("tester"), Key("default", "busy")
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "busy"}}, "template": template}
    await client.create(DEPLOYMENTS, DEPLOYMENTS.describe(key) | {"spec": spec})
    try:
        # Not by `kubectl autoscale`: the older one writes autoscaling/v1, which is not served.
        made = await kubectl("create", "-f", "-", stdin=json.dumps(AUTOSCALER).encode())
        assert made[0] == 0, made

        async def scaled() -> bool:
            status = (await client.get(DEPLOYMENTS, key)).get("status", {})
            return bool(status.get("readyReplicas") == 3)

        await until(scaled, 3 * PATIENCE)
    finally:
        await kubectl("delete", "deployment/busy", "hpa/busy", "--timeout=10s")
