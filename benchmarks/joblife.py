# SPDX-License-Identifier: Apache-2.0
"""What operators are measured by: a client that submits and resizes jobs and notes when it sees what is made for them.

A job's objects are there when its worker pods and its launcher are: a batch Job for v2beta1, whose pod is made by
whoever serves batch Jobs, and a pod for v1. Every name is waited for, so nothing that was made twice counts twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from contenders import Contender

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.informer import Informer
from springtide.kube.request import Patch, Request, Scope
from springtide.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    JOBS,
    NAMESPACES,
    PODS,
    SERVICEACCOUNTS,
    Key,
    Obj,
    Resource,
)

NAMESPACE = "bench"
LOCKS = "mpi-operator"
"""The namespace in which an operator is elected."""
PATIENCE = 300.0
LANES = 32
"""Requests of ours that are under way at once."""
WORKERS = 2


class _Seen(msgspec.Struct):
    metadata: dict[str, Any]


def job(name: str, version: str) -> Obj:
    def role(command: Sequence[str], replicas: int) -> Obj:
        container = {"name": "main", "image": "bench", "command": list(command)}
        return {"replicas": replicas, "template": {"spec": {"containers": [container]}}}

    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "slotsPerWorker": 1,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {
                "Launcher": role(["mpirun", "-n", "2", "/bench"], 1),
                "Worker": role(["/usr/sbin/sshd", "-De"], WORKERS),
            },
        },
    }


class Bench:
    def __init__(self, client: Client, contender: Contender) -> None:
        self._client = client
        self._version = contender.jobs
        self._mpijobs = Resource("kubeflow.org", contender.jobs, "mpijobs", "MPIJob")
        self._informers = [Informer(client, each, Scope(NAMESPACE), into=_Seen) for each in (PODS, JOBS)]
        self._moments: dict[str, float] = {}
        self._waiting: set[str] = set()
        self._all_there = asyncio.Event()

    async def follow(self) -> None:
        for informer in self._informers:
            informer.on_change(self._note)
        await asyncio.gather(*(informer.run() for informer in self._informers))

    def _note(self, key: Key) -> None:
        if key.name not in self._moments:
            self._moments[key.name] = time.perf_counter()
            self._waiting.discard(key.name)
            if not self._waiting:
                self._all_there.set()

    async def seen(self, names: Sequence[str]) -> float:
        """Waits for all of them; when the last one came."""
        self._waiting = {name for name in names if name not in self._moments}
        self._all_there.clear()
        if self._waiting:
            try:
                await asyncio.wait_for(self._all_there.wait(), PATIENCE)
            except TimeoutError:
                some = ", ".join(sorted(self._waiting)[:10])
                raise SystemExit(f"{len(self._waiting)} not there after {PATIENCE:.0f} s, such as {some}") from None
        return max(self._moments[name] for name in names)

    async def submit(self, names: Sequence[str]) -> tuple[float, float]:
        """Seconds until all jobs are accepted, and until all that is made for them is seen."""

        async def one(name: str) -> None:
            await self._client.create(self._mpijobs, job(name, self._version))

        began = time.perf_counter()
        await _in_lanes(names, one)
        accepted = time.perf_counter() - began
        made = [f"{name}-worker-{index}" for name in names for index in range(WORKERS)]
        return accepted, await self.seen([*made, *(f"{name}-launcher" for name in names)]) - began

    async def grow(self, names: Sequence[str]) -> float:
        """Seconds from asking for one more worker for each of these jobs until all new pods are seen."""
        body = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": WORKERS + 1}}}}

        async def one(name: str) -> None:
            await self._client.patch(self._mpijobs, Key(NAMESPACE, name), body)

        began = time.perf_counter()
        await _in_lanes(names, one)
        return await self.seen([f"{name}-worker-{WORKERS}" for name in names]) - began

    async def writes(self) -> dict[str, float] | None:
        """Requests that change something, by verb and resource, that the server has counted; None where it does not."""
        try:
            answer = await self._client.raw(Request("GET", "/metrics"))
        except errors.ApiError:
            return None
        found: dict[str, float] = {}
        for line in answer.body.decode().splitlines():
            if line.startswith("apiserver_request_total{"):
                labels, _, value = line.partition("{")[2].rpartition("} ")
                named = dict(pair.split("=", 1) for pair in labels.replace('"', "").split(","))
                if named["verb"] in ("POST", "PUT", "PATCH", "APPLY", "DELETE"):
                    what = " ".join(filter(None, (named["verb"], named["resource"], named.get("subresource"))))
                    found[what] = found.get(what, 0) + float(value)
        return found or None


async def _in_lanes(names: Sequence[str], one: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    async def some(part: Sequence[str]) -> None:
        for name in part:
            await one(name)

    await asyncio.gather(*(some(names[lane::LANES]) for lane in range(LANES)))


@asynccontextmanager
async def connected(kubeconfig: str, contender: Contender) -> AsyncIterator[Bench]:
    """A client that follows what is made in its namespace."""
    async with await Client.connect(kubeconfig) as client:
        bench = Bench(client, contender)
        following = asyncio.create_task(bench.follow())
        try:
            yield bench
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


async def prepare(kubeconfig: str, contender: Contender) -> None:
    """The kind, the namespaces and their accounts, which nobody else makes on a server without controllers."""
    async with await Client.connect(kubeconfig) as client:
        await _define(client, contender.crd())
        for namespace in (NAMESPACE, LOCKS):
            with suppress(errors.AlreadyExists):
                await client.create(NAMESPACES, NAMESPACES.describe(Key("", namespace)))
            with suppress(errors.AlreadyExists):
                await client.create(SERVICEACCOUNTS, SERVICEACCOUNTS.describe(Key(namespace, "default")))
        mpijobs = Resource("kubeflow.org", contender.jobs, "mpijobs", "MPIJob")
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await client.list(mpijobs, Scope(NAMESPACE))
                    return
                except errors.NotFound:
                    await asyncio.sleep(0.05)


async def _define(client: Client, wanted: Obj) -> None:
    try:
        await client.create(CUSTOMRESOURCEDEFINITIONS, wanted)
    except errors.AlreadyExists:  # an embedded server brings its own, a moment after it answers
        await client.patch(CUSTOMRESOURCEDEFINITIONS, Key.of(wanted), {"spec": wanted["spec"]}, Patch.MERGE)
