# SPDX-License-Identifier: Apache-2.0
"""One node agent, composed: informers, the controller of its pods, the port it serves, its heartbeat.

Ending an agent leaves its pods running, and the next agent adopts them. `end_pods` is the other way to end: pods get
their grace periods and their objects are left unchanged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from springtide.kube import config
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import NODES, PODS, Key, Obj
from springtide.kube.workqueue import Backoff
from springtide.local.datadir import DataDir
from springtide.local.environments.shelf import Environments, default_root
from springtide.local.kubelet.containers.bodies import Maker
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.devices.allocation import Devices
from springtide.local.kubelet.mirror_pods.hosting import AllPods
from springtide.local.kubelet.mirror_pods.keeping import MirrorPods
from springtide.local.kubelet.node import heartbeat, machine, registration
from springtide.local.kubelet.node.addresses import Addresses, range_of
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.node.heartbeat import Heartbeat
from springtide.local.kubelet.pods import adoption
from springtide.local.kubelet.pods.local_pods import Pods
from springtide.local.kubelet.pods.sync import Sync, uids_to_run
from springtide.local.kubelet.serving.server import serve
from springtide.local.runtime.fork_client import ForkClient

logger = logging.getLogger(__name__)

BACKOFF = Backoff(base=0.05, limit=5.0)
"""Between retries of writes to the API server: short, so that it is informed soon after it is back."""
WORKERS = 16
"""Pods reconciled in parallel; few, because starting all pods at once would make each of them late."""


@dataclass(frozen=True, slots=True)
class Options:
    node: str
    data_dir: Path
    kubeconfig: Path
    certificate: Path
    key: Path
    client_ca: Path
    isolation: str = "namespaces"
    fake_gpus: int | None = None


class Agent:
    def __init__(self, client: Client, server: str, node: Obj, options: Options) -> None:
        self._options = options
        self._client = client
        self._machine = machine.look(options.data_dir)
        self._devices = Devices(options.data_dir, options.node, registration.asked_of(node), options.fake_gpus)
        self._informers = Informers(client)
        self._informer = self._informers.of(PODS, Scope(fields=f"spec.nodeName={options.node}"))
        self._nodes = self._informers.of(NODES, Scope(fields=f"metadata.name={options.node}"))
        self._controller: Controller[str] = Controller("pods", self._reconcile, workers=WORKERS, backoff=BACKOFF)
        resources = registration.capacity_of(node, self._machine, self._devices.capacity())
        facts = Facts(options.node, options.data_dir, isolation=options.isolation, server=server, allocatable=resources)
        environments = Environments(default_root())
        maker = Maker(client, self._informers, facts, environments, self._devices)
        index = registration.index_of(node) or 1
        self._forks = ForkClient()
        self._deps = Dependencies(
            client=client,
            facts=facts,
            pods=Pods(),
            addresses=Addresses(range_of(index, options.isolation), "" if facts.isolated else str(options.data_dir)),
            bodies=maker,
            runtime=self._forks,
            devices=self._devices,
            recorder=EventRecorder(client, "kubelet", options.node),
            wake=self._controller.enqueue,
        )
        self._sync = Sync(self._deps, self._informer)
        self._mirrors = MirrorPods(client, self._informer, self._nodes, facts)
        self._all_pods = AllPods(self._deps.pods, self._informer, DataDir(options.data_dir))
        maker.on_change(self._nudge)

    @property
    def pods(self) -> Pods:
        return self._deps.pods

    async def run(self, settled: Callable[[], None]) -> None:
        """Run until cancelled; calls `settled` when the pods on disk are adopted, before which no pod is touched."""
        options = self._options
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informers.run(), name="informers")
            await self._informer.wait_synced()
            for pod in await adoption.found(self._deps, self._informer):
                self._sync.adopt(pod)
                self._controller.enqueue(pod.uid)
            settled()
            self._forks.open()
            self._controller.watches(self._informer, uids_to_run)
            group.create_task(self._deps.recorder.run(), name="events")
            group.create_task(self._controller.run(), name="pods")
            group.create_task(self._mirrors.run(), name="mirror pods")
            async with serve(
                self._all_pods, options.certificate, options.key, options.client_ca, self._deps.facts.exec_directory
            ) as port:
                try:
                    await self._live(port)
                finally:
                    await self._sync.stop()
                    self._forks.close()

    async def _live(self, port: int) -> None:
        beat = Heartbeat(self._client, self._options.node, self._machine, self._resources)
        nodes = self._nodes
        known: set[tuple[str, str]] = set()

        def look(key: Key) -> None:
            """Report at once to a node that was recreated or got another capacity, but not at every heartbeat."""
            node = nodes.get(key)
            if node is not None and (word := registration.word_of(node)) not in known:
                known.clear()
                known.add(word)
                beat.report_soon()

        nodes.on_change(look)
        await beat.run(port)

    def _resources(self, node: Obj) -> dict[str, str]:
        return registration.capacity_of(node, self._machine, self._devices.capacity())

    async def _reconcile(self, uid: str) -> Result | None:
        return await self._sync.reconcile(uid)

    def _nudge(self, key: Key) -> None:
        """Something in a pod's volumes is out of date."""
        obj = self._informer.get(key)
        if obj is not None:
            self._sync.nudge(obj["metadata"]["uid"])

    async def end_pods(self) -> None:
        """End all pods within their grace periods, while `run` continues; their objects are left unchanged."""
        self._mirrors.close()
        await self._sync.close()


@asynccontextmanager
async def connected(options: Options) -> AsyncIterator[Agent]:
    """An agent that is ready to run; waits for the API server and for its node object."""
    connection = await config.from_kubeconfig(str(options.kubeconfig))
    async with Client.over_http(connection) as client:
        node = await heartbeat.own_node(client, options.node)
        yield Agent(client, connection.server, node, options)
