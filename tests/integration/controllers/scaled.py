# SPDX-License-Identifier: Apache-2.0
"""A TrainingJob and its scalers in a `World`, whose pods start by themselves and whose scripts run nowhere.

async with moving(world):
    job = ScaledJob(world)
    await job.running(2)
    await job.scale_out("grow", 1)
    await job.until(SCALE_OUTS, "grow", "ScaleSucceeded")
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.wire import Wire
from tests.integration.controllers.world import World
from tests.unit.api.builders import a_trainingjob

from springtide.kube import errors
from springtide.kube.request import Request
from springtide.kube.resources import CONFIGMAPS, EVENTS, PODS, Obj, Resource
from springtide.kube.transport import Transport, WebSocket

GROUP = "kai.alibabacloud.com"
TRAININGJOBS = Resource(GROUP, "v1alpha1", "trainingjobs", "TrainingJob")
SCALE_OUTS = Resource(GROUP, "v1alpha1", "scaleouts", "ScaleOut")
SCALE_INS = Resource(GROUP, "v1alpha1", "scaleins", "ScaleIn")
NAME = "bert"
LAUNCH = ("horovodrun", "-np", "1", "--min-np", "1", "--host-discovery-script", "/etc/edl/discover_hosts.sh", "train")
FAST = {f"springtide.dev/{name}-seconds": "0" for name in ("drain", "settle", "start")}
SUCCESS = {"metadata": {}, "status": "Success"}


def exited(code: int) -> Obj:
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "message": "failed", "details": {"causes": causes}}


@dataclass
class ScaledJob:
    world: World
    name: str = NAME

    async def submit(self, workers: int, least: int = 1, most: int | None = None) -> None:
        bounds = {"minReplicas": least} | ({"maxReplicas": most} if most else {})
        raw = a_trainingjob(name=self.name, workers=workers, command=LAUNCH, worker=bounds, annotations=FAST)
        await self.create(TRAININGJOBS, raw)

    async def create(self, resource: Resource, raw: Obj) -> Obj:
        metadata = {key: value for key, value in raw["metadata"].items() if key != "uid"}
        return await self.world.client.create(
            resource, {**raw, "metadata": {**metadata, "namespace": self.world.namespace}}
        )

    async def running(self, workers: int, **bounds: Any) -> None:
        await self.submit(workers, **bounds)
        await self.until_listed(*range(workers))

    async def scale_out(self, name: str, count: int, **spec: Any) -> Obj:
        return await self._scale(SCALE_OUTS, name, {"toAdd": {"count": count}, **spec})

    async def scale_in(self, name: str, count: int, **spec: Any) -> Obj:
        return await self._scale(SCALE_INS, name, {"toDelete": {"count": count}, **spec})

    async def _scale(self, resource: Resource, name: str, spec: Obj) -> Obj:
        raw = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            "spec": {"selector": {"name": self.name}, **spec},
        }
        return await self.create(resource, raw)

    async def until(self, resource: Resource, name: str, phase: str) -> Obj:
        """The condition of the phase."""

        async def status() -> Obj:
            found: Obj = (await self.world.get(resource, name)).get("status") or {}
            return found

        found = await self.world.until(status, lambda found: found.get("phase") == phase)
        last: Obj = found["conditions"][-1]
        assert last["type"] == phase
        return last

    async def until_listed(self, *indices: int) -> None:
        names = [f"{self.name}-worker-{index}" for index in indices]
        await self.world.until(self.listed, lambda found: found == names)

    async def listed(self) -> list[str]:
        config = await self.world.find(CONFIGMAPS, f"{self.name}-config")
        script = str(config["data"].get("discover_hosts.sh", "")) if config else ""
        return re.findall(r"^echo ([^:.\n]+)", script, re.MULTILINE)

    async def workers(self) -> list[str]:
        found = await self.world.all_of(PODS, f"springtide.dev/job={self.name},springtide.dev/role=Worker")
        return sorted(name for name, pod in found.items() if "deletionTimestamp" not in pod["metadata"])

    async def size(self) -> int:
        job = await self.world.get(TRAININGJOBS, self.name)
        size: int = job["spec"]["etReplicaSpecs"]["worker"]["replicas"]
        return size

    async def reasons(self, scaler: str) -> list[str]:
        """Of events about a scaler."""
        events = (await self.world.all_of(EVENTS)).values()
        return [each["reason"] for each in events if each["involvedObject"]["name"] == scaler]


@asynccontextmanager
async def moving(*worlds: World, keeps: Callable[[str], bool] = lambda name: False) -> AsyncIterator[None]:
    """Pods start, but for those whose names are kept from it; deleted ones are gone."""

    async def move() -> None:
        while True:
            for world in worlds:
                await _move(world, keeps)
            await asyncio.sleep(0.02)

    async with meanwhile(move()):
        yield


async def _move(world: World, keeps: Callable[[str], bool]) -> None:
    configs = await world.all_of(CONFIGMAPS)
    for name, pod in (await world.all_of(PODS)).items():
        if keeps(name) or "deletionTimestamp" in pod["metadata"] or pod["status"]["phase"] != "Pending":
            continue
        given = configs.get(f"{name.removesuffix('-launcher')}-config", {}).get("data", {}).get("hosts_given.sh", "")
        if name.endswith("-launcher") and pod["metadata"]["uid"] not in given:
            continue
        with suppress(errors.NotFound, errors.Conflict, errors.Invalid):
            await world.kubelet.run(name)
    await world.kubelet.end()


Command = Callable[[Sequence[str]], Awaitable[tuple[Obj, bytes]]]
"""From the words to the status and the output."""


class Exec:
    """A transport to the API server whose commands run in the test instead of a pod."""

    def __init__(self, transport: Transport, command: Command) -> None:
        self._transport, self._command = transport, command
        self.send, self.stream, self.close = transport.send, transport.stream, transport.close
        self.commands: list[list[str]] = []
        self.targets: list[str] = []

    @asynccontextmanager
    async def websocket(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        words = [value for name, value in request.repeated if name == "command"]
        self.commands.append(words)
        self.targets.append(f"{request.path} {request.query['container']}")
        yield _Socket(protocols[0], self._command(words))


class _Socket:
    def __init__(self, protocol: str, command: Awaitable[tuple[Obj, bytes]]) -> None:
        self.protocol = protocol
        self._command: Awaitable[tuple[Obj, bytes]] | None = command
        self._status: Obj | None = None

    async def receive(self) -> bytes | None:
        if self._command is not None:
            command, self._command = self._command, None
            self._status, output = await command
            return b"\x01" + output
        status, self._status = self._status, None
        return b"\x03" + msgspec.json.encode(status) if status is not None else None

    async def send(self, message: bytes) -> None:
        raise AssertionError("a command without stdin is sent nothing")


def with_commands(world: World, command: Command) -> tuple[Wire, Exec]:
    """For `World.start`."""
    transport = Exec(world.server.transport(), command)
    return Wire(transport), transport
