# SPDX-License-Identifier: Apache-2.0
"""An embedded cluster with chosen controllers and without nodes: tests play the kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.controller import Controller, run
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import EVENTS, PODS, SERVICEACCOUNTS, Key, Obj, Resource
from springtide.local.cluster import Options, running

T = TypeVar("T")
NAMESPACE = "default"
PATIENCE = 10.0


class Module(Protocol):
    COMPONENT: str

    def controller(self, informers: Informers, client: Client, events: EventRecorder) -> Controller[Any]: ...


class World:
    """A client with the questions that these tests ask."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def create(self, resource: Resource, obj: Obj) -> Obj:
        metadata = {"namespace": NAMESPACE, **obj["metadata"]}
        header = {"apiVersion": resource.api_version, "kind": resource.kind}
        return await self.client.create(resource, {**header, **obj, "metadata": metadata})

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.client.get(resource, Key(NAMESPACE, name))

    async def all_of(self, resource: Resource, labels: str = "") -> list[Obj]:
        return (await self.client.list(resource, Scope(NAMESPACE, labels))).items

    async def patch(self, resource: Resource, name: str, body: Obj, subresource: str = "") -> Obj:
        return await self.client.patch(resource, Key(NAMESPACE, name), body, subresource=subresource)

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, Key(NAMESPACE, name))

    async def pods(self, labels: str = "") -> list[Obj]:
        return await self.all_of(PODS, labels)

    async def until(self, ask: Callable[[], Awaitable[T]], accept: Callable[[T], object]) -> T:
        return await until(ask, accept, PATIENCE)

    async def until_object(self, resource: Resource, name: str, accept: Callable[[Obj], object]) -> Obj:
        return await self.until(lambda: self.get(resource, name), accept)

    async def until_pods(self, count: int, labels: str = "") -> list[Obj]:
        return await self.until(lambda: self.pods(labels), lambda pods: len(pods) == count)

    async def events(self, reason: str) -> list[str]:
        return [event["message"] for event in await self.all_of(EVENTS) if event["reason"] == reason]

    # The kubelet's part

    async def report(self, pod: Obj, phase: str, **status: Any) -> None:
        await self.patch(PODS, pod["metadata"]["name"], {"status": {"phase": phase, **status}}, "status")

    async def run(self, pod: Obj) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        await self.report(pod, "Running", conditions=[ready], startTime=now)

    async def run_all(self, labels: str = "") -> None:
        for pod in await self.pods(labels):
            if pod["status"]["phase"] == "Pending":
                await self.run(pod)


@asynccontextmanager
async def a_world(path: Path, *modules: Module) -> AsyncIterator[World]:
    async with running(Options(path, port=0, controllers=False)) as cluster:
        client = cluster.client("system:kube-controller-manager")
        informers = Informers(client)
        recorders = [EventRecorder(client, module.COMPONENT) for module in modules]
        controllers = [
            module.controller(informers, client, recorder) for module, recorder in zip(modules, recorders, strict=True)
        ]
        tasks = [asyncio.create_task(run(informers, controllers))]
        tasks += [asyncio.create_task(recorder.run()) for recorder in recorders]
        try:
            world = World(client)
            # Made by another controller; no pod is admitted without it.
            await world.create(SERVICEACCOUNTS, {"metadata": {"name": "default"}})
            yield world
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
