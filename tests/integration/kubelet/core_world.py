# SPDX-License-Identifier: Apache-2.0
"""A cluster in this process, a node and its agent in a process of its own, and the questions that tests ask."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.patience import until

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import EVENTS, NODES, PODS, SERVICEACCOUNTS, Key, Obj
from springtide.local.cluster import Cluster, Options, running
from springtide.local.network import netd_client
from springtide.local.runtime import shim_client
from springtide.local.supervisor import credentials

NODE = "node-a"
NAMESPACE = "default"
PATIENCE = 30.0


@dataclass
class World:
    cluster: Cluster
    client: Client
    isolation: str
    agent: subprocess.Popen[bytes] | None = None

    @property
    def data_dir(self) -> Path:
        return self.cluster.directory.path

    # The agent

    def start_agent(self) -> None:
        made = credentials.make(self.cluster.directory, NODE, self.cluster.url)
        command = [sys.executable, "-m", "springtide.local.kubelet", "--node", NODE, *made.arguments()]
        command += ["--data-dir", str(self.data_dir), "--isolation", self.isolation]
        with (self.data_dir / "agent.log").open("ab") as log:
            self.agent = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})

    async def stop_agent(self, number: int = signal.SIGTERM) -> int:
        assert self.agent is not None
        self.agent.send_signal(number)
        code = await asyncio.to_thread(self.agent.wait, PATIENCE)
        self.agent = None
        return code

    # Pods

    @property
    def shared(self) -> Path:
        """A directory that tests and all containers see at the same path."""
        return self.data_dir / "shared"

    async def bind(self, name: str, *containers: Obj, **spec: Any) -> Obj:
        mounts = [{"name": "shared", "mountPath": str(self.shared)}]
        volumes = [{"name": "shared", "hostPath": {"path": str(self.shared)}}]
        seeing = [{"volumeMounts": mounts, **container} for container in containers]
        body = {"nodeName": NODE, "terminationGracePeriodSeconds": 2, "containers": seeing, "volumes": volumes, **spec}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": body}
        return await self.client.create(PODS, pod)

    async def pod(self, name: str) -> Obj:
        return await self.client.get(PODS, Key(NAMESPACE, name))

    async def until_pod(self, name: str, accept: Callable[[Obj], object]) -> Obj:
        return await until(lambda: self.pod(name), accept, PATIENCE)

    async def until_phase(self, name: str, phase: str) -> Obj:
        return await self.until_pod(name, lambda pod: pod["status"]["phase"] == phase)

    async def until_gone(self, name: str) -> None:
        await until(lambda: self.client.find(PODS, Key(NAMESPACE, name)), lambda pod: pod is None, PATIENCE)

    async def events(self, name: str) -> list[tuple[str, str]]:
        found = (await self.client.list(EVENTS, Scope(NAMESPACE))).items
        return [(one["reason"], one["message"]) for one in found if one["involvedObject"]["name"] == name]

    async def until_event(self, name: str, reason: str) -> str:
        found = await until(lambda: self.events(name), lambda all_: reason in [each for each, _ in all_], PATIENCE)
        return next(message for each, message in found if each == reason)

    def log(self, pod: Obj, container: str = "main", attempt: int = 0) -> str:
        """What the container printed."""
        metadata = pod["metadata"]
        directory = self.data_dir / "logs" / f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"
        lines = (directory / container / f"{attempt}.log").read_text().splitlines()
        return "\n".join(line.split(" ", 3)[3] for line in lines)

    def directory(self, pod: Obj) -> Path:
        return self.data_dir / "pods" / str(pod["metadata"]["uid"])


def a_program(text: str, name: str = "main", **fields: Any) -> Obj:
    return {"name": name, "image": "busybox", "command": ["sh", "-c", text], **fields}


@asynccontextmanager
async def a_world(path: Path, isolation: str) -> AsyncIterator[World]:
    """Without upkeep and scheduler: what happens to a pod here, the agent did."""
    async with running(Options(path, port=0, controllers=False)) as cluster:
        client = cluster.client("tester")
        node = {"metadata": {"name": NODE, "annotations": {"springtide.dev/node-index": "1"}}}
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", **node})
        account = {"metadata": {"name": "default", "namespace": NAMESPACE}, "automountServiceAccountToken": False}
        await client.create(SERVICEACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", **account})
        world = World(cluster, client, isolation)
        world.shared.mkdir()
        try:
            if isolation != "none":
                await netd_client.ensure(path, uplink=False)
            world.start_agent()
            yield world
            await _remove_all(world)
        finally:
            if world.agent is not None:
                world.agent.kill()
                world.agent.wait()
            _kill_shims(path)
            await netd_client.end(path)


def _kill_shims(path: Path) -> None:
    """Those of a test that failed."""
    for directory in path.glob("pods/*"):
        if shim := shim_client.living(directory):
            os.kill(shim, signal.SIGKILL)


async def _remove_all(world: World) -> None:
    """Nothing may be left running when the test is over."""
    if world.agent is None:
        world.start_agent()
    for pod in (await world.client.list(PODS, Scope(NAMESPACE))).items:
        try:
            await world.client.delete(PODS, Key.of(pod))
        except errors.NotFound:
            continue
    await until(lambda: world.client.list(PODS, Scope(NAMESPACE)), lambda pods: not pods.items, PATIENCE)
