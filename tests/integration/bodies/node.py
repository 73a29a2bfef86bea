# SPDX-License-Identifier: Apache-2.0
"""A node agent's part in the making of bodies, on a live embedded cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.integration.controller_manager_basics.cluster_client import World, a_cluster

from springtide.kube.informer import Informers
from springtide.kube.resources import PODS, Key, Obj
from springtide.local.environments.shelf import Environments
from springtide.local.kubelet.containers.bodies import Facts, Maker


class NoDevices:
    def allocate(self, pod_uid: str, container: str, wanted: Mapping[str, int]) -> dict[str, str]:
        return {}

    def release(self, pod_uid: str) -> None:
        return None


class Node:
    def __init__(self, world: World, data: Path, informers: Informers) -> None:
        self.world, self.data, self.informers = world, data, informers
        self.environments = Environments(data / "environments")
        self.maker = Maker(informers.client, informers, Facts("n1", data), self.environments, NoDevices())
        self.changed: list[Key] = []
        self.maker.on_change(self.changed.append)
        self._following = asyncio.create_task(informers.run())

    async def stop_watching(self) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    async def pod(self, name: str = "p", **spec: Any) -> tuple[Obj, Path]:
        """A pod in the API, and its directory as an agent begins it."""
        container = {"name": "c", "image": "i", "command": ["true"]} | spec.pop("container", {})
        pod = await self.world.create(PODS, name, spec={"containers": [container], **spec})
        directory = self.data / "pods" / pod["metadata"]["uid"]
        directory.mkdir(parents=True)
        (directory / "pod.json").write_text(json.dumps({"address": "10.244.1.2"}))
        return pod, directory

    async def until_changed(self) -> None:
        async def changed() -> list[Key]:
            return self.changed

        await self.world.until(changed)
        self.changed.clear()


@asynccontextmanager
async def a_node(path: Path) -> AsyncIterator[Node]:
    async with a_cluster(path / "cluster") as world:
        informers = Informers(world.cluster.client("system:node:n1"))
        node = Node(world, path / "data", informers)
        try:
            yield node
        finally:
            await node.stop_watching()
