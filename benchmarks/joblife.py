# SPDX-License-Identifier: Apache-2.0
"""What operators are measured by: a client that submits and resizes jobs and notes when it sees what is made for them.

What that is, is said by the workload. Every name is waited for, so nothing that was made twice counts twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from contenders import Contender
from workloads import NAMESPACE, Made

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.informer import Informer
from springtide.kube.request import Patch, Request, Scope
from springtide.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    NAMESPACES,
    SERVICEACCOUNTS,
    Key,
    Obj,
    Resource,
)

PATIENCE = 300.0
LANES = 32
"""Requests of ours that are under way at once."""


class _Seen(msgspec.Struct):
    metadata: dict[str, Any]


class _Job(msgspec.Struct):
    metadata: dict[str, Any]
    status: dict[str, Any] = {}


class Bench:
    def __init__(self, client: Client, contender: Contender) -> None:
        self._client, self._work = client, contender.workload
        self._moments: dict[Made, float] = {}
        self._waiting: set[Made] = set()
        self._all_there = asyncio.Event()

    async def follow(self) -> None:
        following = [self._follow_made(resource) for resource in self._work.follows]
        await asyncio.gather(*following, *([self._follow_jobs()] if self._work.told else []))

    async def _follow_made(self, resource: Resource) -> None:
        informer = Informer(self._client, resource, Scope(NAMESPACE), into=_Seen)
        informer.on_change(lambda key: self._note(resource, key))
        await informer.run()

    async def _follow_jobs(self) -> None:
        """A job is there when its status says that it is created."""
        informer = Informer(self._client, self._work.resource, Scope(NAMESPACE), into=_Job)

        def look(key: Key) -> None:
            found = informer.get(key)
            if found is not None and found.status.get("conditions"):
                self._note(self._work.resource, key)

        informer.on_change(look)
        await informer.run()

    def _note(self, resource: Resource, key: Key) -> None:
        found = resource, key.name
        if found not in self._moments:
            self._moments[found] = time.perf_counter()
            self._waiting.discard(found)
            if not self._waiting:
                self._all_there.set()

    async def seen(self, objects: Sequence[Made]) -> float:
        """Waits for all of them; when the last one came."""
        self._waiting = {each for each in objects if each not in self._moments}
        self._all_there.clear()
        if self._waiting:
            try:
                await asyncio.wait_for(self._all_there.wait(), PATIENCE)
            except TimeoutError:
                some = ", ".join(sorted(f"{resource.kind} {name}" for resource, name in self._waiting)[:10])
                raise SystemExit(f"{len(self._waiting)} not there after {PATIENCE:.0f} s, such as {some}") from None
        return max(self._moments[each] for each in objects)

    async def submit(self, names: Sequence[str]) -> tuple[float, float]:
        """Seconds until all jobs are accepted, and until all that is made for them is seen."""

        async def one(name: str) -> None:
            await self._client.create(self._work.resource, self._work.job(name))

        began = time.perf_counter()
        await _in_lanes(names, one)
        accepted = time.perf_counter() - began
        made = [each for name in names for each in self._work.made(name)]
        told = [(self._work.resource, name) for name in names] if self._work.told else []
        return accepted, await self.seen([*made, *told]) - began

    async def grow(self, names: Sequence[str]) -> float:
        """Seconds from asking for one more worker for each of these jobs until all that is new is seen."""
        body = self._work.larger()

        async def one(name: str) -> None:
            await self._client.patch(self._work.resource, Key(NAMESPACE, name), body)

        began = time.perf_counter()
        await _in_lanes(names, one)
        return await self.seen([each for name in names for each in self._work.added(name)]) - began

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
    """The kinds, the namespaces and their accounts, which nobody else makes on a server without controllers, and what
    the contender is installed with."""
    async with await Client.connect(kubeconfig) as client:
        for definition in contender.crds():
            await _define(client, definition)
        for namespace in (NAMESPACE, contender.namespace):
            with suppress(errors.AlreadyExists):
                await client.create(NAMESPACES, NAMESPACES.describe(Key("", namespace)))
            with suppress(errors.AlreadyExists):
                await client.create(SERVICEACCOUNTS, SERVICEACCOUNTS.describe(Key(namespace, "default")))
        for resource, manifest in contender.objects:
            with suppress(errors.AlreadyExists):
                await client.create(resource, dict(manifest))
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await client.list(contender.workload.resource, Scope(NAMESPACE))
                    return
                except errors.NotFound:
                    await asyncio.sleep(0.05)


async def _define(client: Client, wanted: Obj) -> None:
    try:
        await client.create(CUSTOMRESOURCEDEFINITIONS, wanted)
    except errors.AlreadyExists:  # an embedded server brings its own, a moment after it answers
        await client.patch(CUSTOMRESOURCEDEFINITIONS, Key.of(wanted), {"spec": wanted["spec"]}, Patch.MERGE)
