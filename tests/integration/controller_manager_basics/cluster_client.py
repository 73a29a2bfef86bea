# SPDX-License-Identifier: Apache-2.0
"""A whole embedded cluster with all its upkeep, asked and changed by tests that play users and kubelets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import EVENTS, NAMESPACES, NODES, PODS, SERVICEACCOUNTS, Key, Obj, Resource
from springtide.local.cluster import Cluster, Options, running

T = TypeVar("T")
PATIENCE = 10.0
NODE = "n1"


class World:
    """One namespace of the cluster."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        self.client: Client = cluster.client("tester")

    def key(self, resource: Resource, name: str) -> Key:
        return Key(self.namespace if resource.namespaced else "", name)

    async def create(self, resource: Resource, name: str, labels: Obj | None = None, **content: Any) -> Obj:
        obj = resource.describe(self.key(resource, name))
        obj["metadata"] |= {"labels": labels or {}} | content.pop("metadata", {})
        return await self.client.create(resource, obj | content)

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.client.get(resource, self.key(resource, name))

    async def find(self, resource: Resource, name: str) -> Obj | None:
        return await self.client.find(resource, self.key(resource, name))

    async def list(self, resource: Resource, labels: str = "") -> list[Obj]:
        return (await self.client.list(resource, Scope(self.namespace, labels))).items

    async def patch(self, resource: Resource, name: str, body: Obj, subresource: str = "") -> Obj:
        return await self.client.patch(resource, self.key(resource, name), body, subresource=subresource)

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, self.key(resource, name))

    async def until(self, ask: Callable[[], Awaitable[T]], accept: Callable[[T], object] = bool) -> T:
        return await until(ask, accept, PATIENCE)

    async def until_object(self, resource: Resource, name: str, accept: Callable[[Obj], object] = bool) -> Obj:
        def accepted(obj: Obj | None) -> bool:
            return obj is not None and bool(accept(obj))

        found = await self.until(lambda: self.find(resource, name), accepted)
        assert found is not None
        return found

    async def until_gone(self, resource: Resource, name: str) -> None:
        await self.until(lambda: self.find(resource, name), lambda obj: obj is None)

    async def until_event(self, reason: str) -> str:
        async def messages() -> list[str]:
            return [event["message"] for event in await self.list(EVENTS) if event["reason"] == reason]

        return (await self.until(messages))[0]

    # The kubelet's part

    async def run_pod(self, name: str, address: str, *, ready: bool = True, **labels: str) -> Obj:
        ports = [{"name": "web", "containerPort": 8080}]
        container = {"name": "c", "image": "i", "ports": ports}
        await self.create(PODS, name, labels, spec={"nodeName": NODE, "containers": [container]})
        return await self.report(name, address, ready=ready)

    async def report(self, name: str, address: str, *, ready: bool) -> Obj:
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [condition]}
        return await self.patch(PODS, name, {"status": status}, "status")


@asynccontextmanager
async def a_cluster(path: Path, namespace: str = "here") -> AsyncIterator[World]:
    async with running(Options(path, port=0)) as cluster:
        world = World(cluster, namespace)
        if namespace != "default":
            await world.create(NAMESPACES, namespace)
        await world.create(NODES, NODE)
        await world.until_object(SERVICEACCOUNTS, "default")
        yield world
