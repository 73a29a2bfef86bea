# SPDX-License-Identifier: Apache-2.0
"""Keeps the mirror pods of this node, as a kubelet keeps those of its static pods.

A mirror pod that was deleted is created again; one that is not to be on this node is deleted. In a namespace that does
not exist or is being deleted none can be created; it is tried again until one can.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from springtide.api.mirror_pods import is_mirror
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.informer import Informer
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import PODS, Key, Obj
from springtide.kube.workqueue import Backoff
from springtide.local.datadir import DataDir
from springtide.local.kubelet.mirror_pods import manifests, records
from springtide.local.kubelet.mirror_pods.records import CONTAINER, Record
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.pods.observed import Observed
from springtide.local.kubelet.specs import pod_specs
from springtide.local.kubelet.status import pod_status
from springtide.local.kubelet.status.pod_status import Place

_POLL = 1.0
"""Seconds between two looks at the supervisor's files."""
PAUSE = 2.0
"""Seconds between the end of a mirror pod and its successor: `kubectl delete` waits until there is no such pod, and
would miss a shorter gap."""
_BACKOFF = Backoff(base=0.1, limit=5.0)


class MirrorPods:
    def __init__(
        self,
        client: Client,
        pods: Informer[Obj],
        nodes: Informer[Obj],
        facts: Facts,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`nodes` has at most the node itself."""
        self._client, self._pods, self._nodes = client, pods, nodes
        self._directory, self._node, self._clock = DataDir(facts.data_dir), Key("", facts.node), clock
        self._place = Place(facts.host_ip, facts.host_ip)
        self._closing = False
        self._known: set[Key] = set()
        """Mirror pods that existed at their last reconcile."""
        self._not_before: dict[Key, float] = {}
        """When a deleted mirror pod may be created again, by the clock of the event loop."""
        self.controller: Controller[Key] = Controller("mirror pods", self._reconcile, backoff=_BACKOFF)
        self.controller.watches(pods, keys=lambda pod: [Key.of(pod)] if is_mirror(pod) else [])
        self.controller.reads(nodes)
        nodes.on_change(lambda _key: self._look())

    async def run(self) -> None:
        await self._nodes.wait_synced()
        self._look()
        await self.controller.run()

    def close(self) -> None:
        """Leave all mirror pods unchanged from now on, because the node is shutting down."""
        self._closing = True

    def _look(self) -> None:
        node = self._nodes.get(self._node)
        for key in () if node is None else manifests.all_of(node):
            self.controller.enqueue(key)

    async def _reconcile(self, key: Key) -> Result | None:
        if self._closing:
            return None
        node, pod = self._nodes.get(self._node), self._pods.get(key)
        all_wanted = {} if node is None else manifests.all_of(node)
        if pod is not None:
            self._known.add(key)
        hosts = records.read_host(self._directory) == self._node.name
        wanted = all_wanted.get(key) if hosts else None
        if pod is not None and is_mirror(pod) and (wanted is None or not manifests.is_current(pod, wanted)):
            await self._delete(key, pod)
        elif pod is None and wanted is not None:
            if (pause := self._pause(key)) > 0:
                return Result(pause)
            await self._create(key, wanted)
        elif pod is not None and is_mirror(pod):
            await self._report(key, pod)
        return Result(_POLL) if key in all_wanted else None

    def _pause(self, key: Key) -> float:
        """Seconds until a mirror pod that does not exist may be created."""
        now = asyncio.get_running_loop().time()
        if key in self._known:
            self._known.discard(key)
            self._not_before[key] = now + PAUSE
        return self._not_before.get(key, now) - now

    async def _create(self, key: Key, wanted: Obj) -> None:
        try:
            await self._client.create(PODS, wanted)
        except (errors.NotFound, errors.Forbidden) as error:
            raise Retry(f"namespace {key.namespace} takes no pods: {error}") from None
        except errors.AlreadyExists:
            raise Retry(f"pod {key} exists: on another node, or not listed yet") from None

    async def _delete(self, key: Key, pod: Obj) -> None:
        """At once: no process ends with a mirror pod. The change of the cache leads to the next reconcile."""
        try:
            await self._client.delete(PODS, key, DeleteOptions(grace=0, uid=pod_specs.uid_of(pod)))
        except (errors.NotFound, errors.Conflict):
            return

    async def _report(self, key: Key, pod: Obj) -> None:
        old = pod.get("status") or {}
        fresh = pod_status.derive(pod, observed(records.read(self._directory), old), old, self._place, self._clock())
        patch = pod_status.difference(pod, old, fresh)
        if patch is not None:
            await self._client.patch(PODS, key, patch, Patch.STRATEGIC, subresource="status")


def observed(record: Record | None, status: Obj) -> Observed:
    """The operator's process as a pod with one container."""
    return Observed(
        sandbox=True,
        states={} if record is None else {CONTAINER: record.state},
        previous={} if record is None or record.previous is None else {CONTAINER: record.previous},
        start=pod_specs.start_of(status),
        phase=str(status.get("phase") or ""),
    )
