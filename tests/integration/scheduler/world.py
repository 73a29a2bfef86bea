# SPDX-License-Identifier: Apache-2.0
"""An embedded cluster with the scheduler and without node agents: tests play the kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions, Request, Response, Scope
from springtide.kube.resources import EVENTS, NODES, PODS, SERVICEACCOUNTS, Key, Obj, Resource
from springtide.local.access.identity import MASTERS, User
from springtide.local.apiserver.loopback import Loopback
from springtide.local.cluster import Cluster, running
from springtide.local.cluster import Options as ClusterOptions
from springtide.local.scheduler.gangs.installing import install
from springtide.local.scheduler.scheduler import Options, run

T = TypeVar("T")
NAMESPACE = "default"
PATIENCE = 20.0
GPU = "nvidia.com/gpu"


class World:
    """A client with the questions that these tests ask, and a scheduler that can be stopped and started."""

    def __init__(self, cluster: Cluster, options: Options) -> None:
        self.client: Client = cluster.client("admin")
        self._cluster = cluster
        self._options = options
        self._scheduler: asyncio.Task[None] | None = None
        self.refusals: dict[str, int] = {}
        """How many of the scheduler's next requests whose target contains a text shall fail."""

    def start(self) -> None:
        user = User("system:kube-scheduler", groups=(MASTERS,))
        client = Client(_Moody(Loopback(self._cluster.server.dispatcher, user), self.refusals))
        self._scheduler = asyncio.create_task(run(client, self._options))

    async def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.cancel()
            await asyncio.gather(self._scheduler, return_exceptions=True)

    async def node(self, name: str, labels: dict[str, str] | None = None, **has: str) -> None:
        there = {"cpu": "4", "memory": "8Gi", "pods": "250", **{_resource(name): each for name, each in has.items()}}
        node = NODES.describe(Key("", name))
        node["metadata"]["labels"] = {"kubernetes.io/hostname": name, **(labels or {})}
        status = {"capacity": there, "allocatable": there, "conditions": [{"type": "Ready", "status": "True"}]}
        await self.client.create(NODES, node | {"status": status})
        await self.client.patch(NODES, Key("", name), {"spec": {"taints": None}})

    async def create(self, resource: Resource, name: str, **parts: Any) -> Obj:
        obj = resource.describe(Key(NAMESPACE if resource.namespaced else "", name))
        obj["metadata"] |= parts.pop("metadata", {})
        return await self.client.create(resource, obj | parts)

    async def pod(self, name: str, wants: dict[str, str] | None = None, **spec: Any) -> Obj:
        metadata = {field: spec.pop(field) for field in ("labels", "annotations") if field in spec}
        resources = {
            "requests": wants or {},
            "limits": {key: each for key, each in (wants or {}).items() if "/" in key},
        }
        container = {"name": "c", "image": "none", "resources": resources}
        return await self.create(PODS, name, metadata=metadata, spec={"containers": [container], **spec})

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.client.get(resource, Key(NAMESPACE if resource.namespaced else "", name))

    async def until(self, ask: Callable[[], Awaitable[T]], accept: Callable[[T], object]) -> T:
        return await until(ask, accept, PATIENCE)

    async def until_object(self, resource: Resource, name: str, accept: Callable[[Obj], object]) -> Obj:
        return await self.until(lambda: self.get(resource, name), accept)

    async def bound(self, name: str) -> str:
        pod = await self.until_object(PODS, name, lambda pod: pod["spec"].get("nodeName"))
        return str(pod["spec"]["nodeName"])

    async def waits(self, name: str, accept: Callable[[str], object] = bool) -> str:
        """Why the pod waits, once it says something acceptable."""
        pod = await self.until_object(PODS, name, lambda pod: accept(message(pod)))
        assert "nodeName" not in pod["spec"]
        return message(pod)

    async def nodes_of(self, *names: str) -> list[str]:
        return [(await self.get(PODS, name))["spec"].get("nodeName", "") for name in names]

    async def events(self, reason: str) -> list[str]:
        found = (await self.client.list(EVENTS, Scope(NAMESPACE))).items
        return [event["message"] for event in found if event["reason"] == reason]

    # The kubelet's part

    async def report(self, name: str, phase: str) -> None:
        body = {"status": {"phase": phase, "startTime": "2026-01-01T00:00:00Z"}}
        await self.client.patch(PODS, Key(NAMESPACE, name), body, subresource="status")

    async def finish_off(self, name: str) -> None:
        await self.client.delete(PODS, Key(NAMESPACE, name), DeleteOptions(grace=0))


class _Moody:
    """A transport whose server fails now and then."""

    def __init__(self, inner: Loopback, refusals: dict[str, int]) -> None:
        self._inner = inner
        self._refusals = refusals

    async def send(self, request: Request) -> Response:
        for text, left in self._refusals.items():
            if left and request.method != "GET" and text in request.target:
                self._refusals[text] = left - 1
                return Response(500, {}, b"")
        return await self._inner.send(request)

    def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def _resource(name: str) -> str:
    return GPU if name == "gpus" else name


def message(pod: Obj) -> str:
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


@asynccontextmanager
async def a_world(path: Path, *, controllers: bool = False, strict: bool = False) -> AsyncIterator[World]:
    async with running(ClusterOptions(path, port=0, controllers=controllers)) as cluster:
        world = World(cluster, Options(strict_resources=strict))
        if not controllers:
            await world.create(SERVICEACCOUNTS, "default")
        else:
            await world.until(lambda: world.client.find(SERVICEACCOUNTS, Key(NAMESPACE, "default")), bool)
        await install(world.client)
        world.start()
        try:
            yield world
        finally:
            await world.stop()
