# SPDX-License-Identifier: Apache-2.0
"""Everything around the agent's core, without processes and without an API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
from tests.unit.local.kubelet.builders import NOW, UID

from springtide.kube import errors
from springtide.kube.cache import Cache
from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informer
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import Key, Obj, Resource
from springtide.local.environments.environment import Environment
from springtide.local.kubelet.containers.bodies import NotReady, Prepared
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.node.addresses import Addresses, range_of
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.pods.local_pods import Pods
from springtide.local.kubelet.pods.sync import Sync
from springtide.local.runtime.contract import ContainerBody, ContainerState, PodBody
from springtide.local.runtime.shim.process import LOST
from springtide.local.runtime.shim_client import Shim, ShimError


@dataclass
class FakeShim:
    """A shim whose programs run until told otherwise."""

    directory: Path
    started: list[tuple[str, int]] = field(default_factory=list)
    stopped: list[tuple[str, float, str]] = field(default_factory=list)
    broken: dict[str, ShimError] = field(default_factory=dict)
    ended: bool = False
    news: asyncio.Queue[ContainerState | None] = field(default_factory=asyncio.Queue)
    running: dict[str, ContainerState] = field(default_factory=dict)

    async def start(self, container: str, attempt: int) -> None:
        self.started.append((container, attempt))
        if error := self.broken.get(container):
            self.say(ContainerState(container, attempt, "exited", finished=NOW, exit_code=128, reason="StartError"))
            raise error
        self.say(ContainerState(container, attempt, "running", pid=7, started=NOW))

    async def stop(self, container: str, grace: float, signal: str = "SIGTERM") -> None:
        self.stopped.append((container, grace, signal))

    async def states(self) -> list[ContainerState]:
        return list(self.running.values())

    async def changes(self) -> AsyncIterator[ContainerState]:
        while (state := await self.news.get()) is not None:
            yield state

    async def end(self) -> None:
        self.ended = True
        self.news.put_nowait(None)

    def close(self) -> None:
        pass

    # For tests

    def say(self, state: ContainerState) -> None:
        """Write a state as shims do, and tell of it."""
        directory = self.directory / "containers" / state.name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{state.attempt}.json").write_bytes(msgspec.json.encode(state))
        self.running[state.name] = state
        self.news.put_nowait(state)

    def exit(self, container: str, code: int, finished: float = NOW) -> None:
        state = self.running[container]
        reason = "Completed" if code == 0 else "Error"
        self.say(msgspec.structs.replace(state, status="exited", exit_code=code, finished=finished, reason=reason))

    def die(self) -> None:
        self.news.put_nowait(None)


class FakeRuntime:
    def __init__(self) -> None:
        self.shims: list[FakeShim] = []
        self.refusal: ShimError | None = None
        self.broken: dict[str, ShimError] = {}
        self.living: dict[Path, FakeShim] = {}
        self.states: list[ContainerState] = []
        """On disk, of a pod whose shim is gone."""
        self.has_rebooted = False

    async def spawn(self, directory: Path) -> Shim:
        if self.refusal is not None:
            raise self.refusal
        self.shims.append(FakeShim(directory, broken=self.broken))
        return cast(Shim, self.shims[-1])

    async def adopt(self, directory: Path) -> Shim | None:
        return cast("Shim | None", self.living.get(directory))

    def left(self, directory: Path) -> list[ContainerState]:
        return self.states

    def lost(self, directory: Path) -> list[ContainerState]:
        killed: dict[str, Any] = {**LOST, "finished": NOW}
        return [
            state if state.status == "exited" else msgspec.structs.replace(state, **killed) for state in self.states
        ]

    def rebooted(self, directory: Path) -> bool:
        return self.has_rebooted

    def discard(self, directory: Path) -> None:
        for path in sorted(directory.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        if directory.exists():
            directory.rmdir()


class FakeBodies:
    def __init__(self) -> None:
        self.lack: NotReady | None = None
        self.container_lack: NotReady | None = None
        self.refreshed: list[str] = []
        self.fresh = False
        self.removed: list[str] = []
        self.warnings: tuple[tuple[str, str], ...] = ()

    def sandbox(self, pod: Obj, directory: Path) -> PodBody:
        return PodBody(pod["metadata"]["uid"], "default", "p", "p")

    async def prepare(self, pod: Obj, directory: Path, body: PodBody | None = None) -> Prepared:
        if self.lack is not None:
            raise self.lack
        return Prepared(body or self.sandbox(pod, directory), directory, {}, self.warnings)

    def container(self, pod: Obj, name: str, attempt: int, prepared: Prepared) -> ContainerBody:
        if self.container_lack is not None:
            raise self.container_lack
        return ContainerBody(name, attempt, ("true",), {}, "/", "log")

    def environment(self, image: str) -> Environment:
        return Environment("tide", "/usr")

    def stands_in(self, image: str) -> bool:
        return False

    async def refresh(self, pod: Obj, directory: Path, *, fresh: bool = False) -> None:
        self.refreshed.append(pod["metadata"]["uid"])
        self.fresh = fresh
        if self.lack is not None:
            raise self.lack

    async def remove(self, pod: Obj) -> None:
        self.removed.append(pod["metadata"]["uid"])


class FakeClient:
    """An API server that takes statuses and deletions of the pods it has."""

    def __init__(self, informer: Cache[Obj]) -> None:
        self.informer = informer
        self.patches: list[Obj] = []
        self.deletions: list[DeleteOptions] = []
        self.down = False
        self.damaged = False

    async def find(self, resource: Resource, key: Key) -> Obj | None:
        if self.down:
            raise errors.Unreachable("down")
        if self.damaged:
            raise errors.ServerError("the stored object is damaged")
        return self.informer.get(key)

    async def patch(self, resource: Resource, key: Key, body: Obj, kind: Patch, *, subresource: str = "") -> Obj:
        self._answer(key)
        assert (kind, subresource) == (Patch.STRATEGIC, "status")
        self.patches.append(body["status"])
        pod = self.informer.get(key)
        assert pod is not None
        self.informer.put(key, "2", pod | {"status": merged(pod["status"], body["status"])})
        return {}

    async def delete(self, resource: Resource, key: Key, options: DeleteOptions) -> Obj:
        self._answer(key)
        self.deletions.append(options)
        self.informer.remove(key)
        return {}

    def _answer(self, key: Key) -> None:
        if self.down:
            raise errors.Unreachable("down")
        if key not in self.informer:
            raise errors.NotFound("gone")


def merged(old: Obj, patch: Obj) -> Obj:
    """As a strategic merge does it to a pod's status: conditions by type, other lists as a whole."""
    conditions = {one["type"]: one for one in old.get("conditions") or ()}
    for one in patch.get("conditions") or ():
        conditions[one["type"]] = _without_nulls(conditions.get(one["type"], {}) | one)
    return _without_nulls(old | patch | {"conditions": list(conditions.values())})


def _without_nulls(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if value is not None}


class FakeDevices:
    def __init__(self) -> None:
        self.released: list[str] = []

    def release(self, pod_uid: str) -> None:
        self.released.append(pod_uid)


class FakeRecorder:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def record(self, about: Any, kind: str, reason: str, message: str) -> None:
        self.events.append((kind, reason, message))


class Stage:
    """A node's agent with nobody around it, and a clock that stands still until it is moved."""

    def __init__(self, path: Path) -> None:
        self.now = NOW
        self.informer: Cache[Obj] = Cache()
        self.runtime, self.bodies, self.devices = FakeRuntime(), FakeBodies(), FakeDevices()
        self.recorder = FakeRecorder()
        self.client = FakeClient(self.informer)
        self.woken: list[tuple[str, float]] = []
        self.facts = Facts("node-a", path)
        self.deps = Dependencies(
            client=cast(Client, self.client),
            facts=self.facts,
            pods=Pods(),
            addresses=Addresses(range_of(1, "namespaces")),
            bodies=self.bodies,
            runtime=self.runtime,
            devices=self.devices,
            recorder=cast(EventRecorder, self.recorder),
            wake=lambda uid, after: self.woken.append((uid, after)),
            clock=lambda: self.now,
        )
        self.sync = Sync(self.deps, cast("Informer[Obj]", self.informer))

    def put(self, pod: Obj) -> None:
        self.informer.put(Key.of(pod), "1", pod)

    def change(self, **metadata: Any) -> None:
        pod = self.api()
        self.put(pod | {"metadata": pod["metadata"] | metadata})

    async def settle(self, uid: str = UID) -> None:
        """Reconcile, and let background tasks have their say, until nothing happens any more."""
        for _ in range(10):
            self.woken.clear()
            await self.sync.reconcile(uid)
            for _ in range(5):
                await asyncio.sleep(0)
            if not any(after <= 0 for _, after in self.woken):
                return
        raise AssertionError(f"never settles: {self.woken}")

    @property
    def shim(self) -> FakeShim:
        return self.runtime.shims[-1]

    def api(self) -> Obj:
        """The pod as the API server has it."""
        pod = self.informer.get(Key("default", "p"))
        assert pod is not None
        return pod

    def status(self) -> Obj:
        status: Obj = self.api()["status"]
        return status

    def state(self, number: int = 0) -> Obj:
        """The first container's."""
        state: Obj = self.status()["containerStatuses"][number]["state"]
        return state

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.recorder.events]
