# SPDX-License-Identifier: Apache-2.0
"""A namespace with an operator, in which the test is scheduler, kubelet and Job controller.

await world.submit(job(command=ELASTIC))
await world.workers_run(2)          # they are created, placed, running and ready
await world.launcher_runs()         # it was given hosts, and started
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from tests.crash_jobs.jobs import Wanted
from tests.integration.controllers.kubelet import Kubelet
from tests.integration.controllers.wire import Wire
from tests.integration.patience import until

from springtide.controllers import prerequisites
from springtide.controllers.operator import Operator
from springtide.controllers.operator import chosen as chosen_kinds
from springtide.controllers.options import Options
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, EVENTS, JOBS, PODS, Key, Obj, Resource
from springtide.kube.transport import Transport

T = TypeVar("T")

PATIENCE = 45.0
QUIET = 0.15
"""Seconds without a write after which an operator is believed to have nothing to do."""
NAME = "pi"
V1, V2 = "v1", "v2beta1"
MPIJOBS = {version: Resource("kubeflow.org", version, "mpijobs", "MPIJob") for version in (V1, V2)}
ELASTIC = (
    *("horovodrun", "-np", "2", "--min-np", "1", "--max-np", "4", "--network-interface", "eth0"),
    *("--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py"),
)
FAST = {"springtide.dev/drain-seconds": "1", "springtide.dev/settle-seconds": "0", "springtide.dev/start-seconds": "0"}


def job(
    version: str = V1,
    workers: int = 2,
    command: Sequence[str] = ("mpirun", "-np", "2", "pi"),
    annotations: Mapping[str, str] | None = None,
    launcher: Obj | None = None,
    **spec: Any,
) -> Obj:
    """`launcher` changes that role; everything else is of the spec."""

    def role(replicas: int, **container: Any) -> Obj:
        return {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "main", "image": "pi:1", **container}]}},
        }

    roles = {"Launcher": role(1, command=list(command)) | (launcher or {}), "Worker": role(workers)}
    metadata = {"name": NAME, "annotations": dict(FAST | dict(annotations or {}))}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": metadata,
        "spec": {"mpiReplicaSpecs": roles, **spec},
    }


@dataclass(frozen=True)
class Server:
    name: str
    transport: Callable[[], Transport]
    kubeconfig: str


class World:
    def __init__(self, server: Server, client: Client, namespace: str) -> None:
        self.server, self.client, self.namespace = server, client, namespace
        self.kubelet = Kubelet(client, namespace)
        self.wire = Wire(server.transport())
        """Of the operator that was started last."""
        self._wires: list[Wire] = [self.wire]
        self._operators: dict[Wire, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for wire in tuple(self._operators):
            await self.kill(wire)
        for wire in self._wires:
            await wire.close()

    # Operators

    async def start(self, wire: Wire | None = None, **options: Any) -> Wire:
        """One more operator: of this namespace and without an election, unless told otherwise."""
        self.wire = wire or Wire(self.server.transport())
        self._wires.append(self.wire)
        chosen = replace(Options(namespace=self.namespace, leader_elect=False), **options)
        client = Client(self.wire)
        served = await prerequisites.defined(client, chosen_kinds(chosen.kinds), named=True)
        operator = Operator(client, chosen, served)
        self._operators[self.wire] = asyncio.create_task(operator.run(), name=f"operator of {self.namespace}")
        return self.wire

    async def kill(self, wire: Wire) -> None:
        """Nothing it does from here on reaches the server."""
        wire.cut.set()
        await self.stop(wire)

    async def stop(self, wire: Wire) -> None:
        """It ends as it does when it is told to. One that broke before that had better a reason."""
        task = self._operators.pop(wire)
        broken = task.done() and not wire.faulty
        task.cancel()
        await asyncio.wait((task,))
        if broken:
            task.result()

    async def restart(self) -> None:
        await self.kill(self.wire)
        await self.start()

    async def quiet(self) -> None:
        """Until the operator has written nothing for a while."""
        count = -1
        while count != len(self.wire.writes):
            count = len(self.wire.writes)
            await asyncio.sleep(QUIET)

    # What users do

    async def submit(self, raw: Obj) -> Obj:
        version = raw["apiVersion"].partition("/")[2]
        metadata = {**raw["metadata"], "namespace": self.namespace}
        return await self.client.create(MPIJOBS[version], {**raw, "metadata": metadata})

    async def submit_wanted(self, wanted: Wanted) -> Wanted:
        """A job of another kind."""
        metadata = {**wanted.manifest["metadata"], "namespace": self.namespace}
        await self.client.create(wanted.resource, {**wanted.manifest, "metadata": metadata})
        return wanted

    async def patch(self, body: Obj, version: str = V2, subresource: str = "") -> Obj:
        return await self.client.patch(MPIJOBS[version], self.key(NAME), body, subresource=subresource)

    async def resize(self, workers: int) -> None:
        await self.patch({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}})

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, self.key(name))

    # What people see

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.client.get(resource, self.key(name))

    async def find(self, resource: Resource, name: str) -> Obj | None:
        return await self.client.find(resource, self.key(name))

    async def all_of(self, resource: Resource, labels: str = "") -> dict[str, Obj]:
        found = await self.client.list(resource, Scope(self.namespace, labels))
        return {each["metadata"]["name"]: each for each in found.items}

    async def job(self, version: str = V2) -> Obj:
        return await self.get(MPIJOBS[version], NAME)

    async def status(self) -> Obj:
        found: Obj = (await self.job()).get("status") or {}
        return found

    async def conditions(self) -> dict[str, str]:
        """Type to status."""
        return {each["type"]: each["status"] for each in (await self.status()).get("conditions", ())}

    async def condition(self, type_: str) -> Obj:
        found: Obj = next(each for each in (await self.status())["conditions"] if each["type"] == type_)
        return found

    async def pods(self, role: str) -> dict[str, Obj]:
        return await self.all_of(PODS, f"springtide.dev/job={NAME},springtide.dev/role={role}")

    async def workers(self) -> list[str]:
        """Those that are not on their way out."""
        found = await self.pods("Worker")
        return sorted(name for name, pod in found.items() if "deletionTimestamp" not in pod["metadata"])

    async def file(self, name: str) -> str:
        config = await self.find(CONFIGMAPS, f"{NAME}-config")
        return str(config["data"].get(name, "")) if config else ""

    async def listed(self) -> list[str]:
        """Names of pods in the discovery script."""
        return re.findall(r"^echo ([^:.\n]+)", await self.file("discover_hosts.sh"), re.MULTILINE)

    async def events(self) -> list[Obj]:
        """About the job, in the order in which they were said: their names end in the moment."""
        found = [each for each in (await self.all_of(EVENTS)).values() if each["involvedObject"]["kind"] == "MPIJob"]
        return sorted(found, key=lambda each: each["metadata"]["name"].rpartition(".")[2])

    async def reasons(self) -> list[str]:
        return [each["reason"] for each in await self.events()]

    async def told(self) -> dict[str, int]:
        """Reasons of events, and how often each was given."""
        return {each["reason"]: each["count"] for each in await self.events()}

    async def until(self, ask: Callable[[], Awaitable[T]], accept: Callable[[T], object]) -> T:
        return await until(ask, accept, PATIENCE)

    async def until_condition(self, type_: str, status: str = "True") -> Obj:
        await self.until(self.conditions, lambda found: found.get(type_) == status)
        return await self.condition(type_)

    async def until_state(self, state: str) -> Obj:
        return await self.until(self.status, lambda found: found.get("state") == state)

    async def until_workers(self, *indices: int) -> list[str]:
        names = sorted(f"{NAME}-worker-{index}" for index in indices)
        return await self.until(self.workers, lambda found: found == names)

    async def until_listed(self, *indices: int) -> list[str]:
        names = [f"{NAME}-worker-{index}" for index in indices]
        return await self.until(self.listed, lambda found: found == names)

    async def until_event(self, reason: str) -> Obj:
        await self.until(self.reasons, lambda found: reason in found)
        return next(each for each in await self.events() if each["reason"] == reason)

    async def until_gone(self, resource: Resource, name: str) -> None:
        await self.until(lambda: self.find(resource, name), lambda found: found is None)

    # What the rest of the cluster does

    async def workers_run(self, count: int) -> list[str]:
        """So many workers are there, and all of them run."""
        names = await self.until(self.workers, lambda found: len(found) == count)
        for name, pod in (await self.pods("Worker")).items():
            if pod["status"]["phase"] == "Pending":
                await self.kubelet.run(name)
        return names

    async def launcher(self) -> str:
        """The name of the launcher's living pod, which a Job controller makes where there is a Job."""

        async def alive() -> list[str]:
            batch = await self.find(JOBS, f"{NAME}-launcher")
            if batch is not None:
                await self.kubelet.job_controller(batch)
            found = await self.pods("Launcher")
            return [name for name, pod in found.items() if pod["status"]["phase"] in ("Pending", "Running")]

        return (await self.until(alive, bool))[0]

    async def launcher_runs(self) -> str:
        """It was given its hosts, and its init container let it start."""
        name = await self.launcher()
        uid = (await self.get(PODS, name))["metadata"]["uid"]
        await self.until(lambda: self.file("hosts_given.sh"), lambda found: uid in found)
        await self.kubelet.run(name)
        return name

    async def everything_moves(self) -> None:
        """Each pod takes its next step, if all goes well."""
        batch = await self.find(JOBS, f"{NAME}-launcher")
        if batch is not None:
            await self.kubelet.job_controller(batch)
        configs = await self.all_of(CONFIGMAPS)
        for name, pod in (await self.all_of(PODS)).items():
            job, launches, _ = name.partition("-launcher")
            given = configs.get(f"{job}-config", {}).get("data", {}).get("hosts_given.sh", "")
            waits = launches and pod["metadata"]["uid"] not in given
            # It may be gone or ended by now.
            with suppress(errors.NotFound, errors.Conflict, errors.Invalid):
                if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Pending" and not waits:
                    await self.kubelet.run(name)
        await self.kubelet.end()

    async def running(self, raw: Obj) -> str:
        """The job is submitted and runs; the launcher's name."""
        await self.submit(raw)
        await self.workers_run(raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"])
        name = await self.launcher_runs()
        await self.until_condition("Running")
        return name
