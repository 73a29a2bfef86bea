# SPDX-License-Identifier: Apache-2.0
"""Everything that became of objects, in the order in which it did: all watches of one store share its counter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash_jobs.jobs import NAMESPACE
from tests.crash_jobs.mix import KINDS
from tests.crash_jobs.training_jobs import SCALERS
from tests.crash_pods.cluster import PASSING, Cluster

from springtide.kube import errors
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, JOBS, PODS, ROLES, Obj, Resource
from springtide.kube.watch import Change, Decoder, watch

JOB = "springtide.dev/job"
WATCHED = (*KINDS, *SCALERS, PODS, CONFIGMAPS, ROLES, JOBS)
_KINDS = {resource.kind for resource in KINDS}
_SCALERS = {resource.kind for resource in SCALERS}


class Seen(NamedTuple):
    """A state of an object; the last one of an object that is gone has `gone`."""

    version: int
    kind: str
    object: Obj
    gone: bool = False

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def job(self) -> str:
        """The name of the job that it is, or that it was made for."""
        if self.kind in _SCALERS:
            return str(self.object["spec"]["selector"]["name"])
        labels = self.object["metadata"].get("labels", {})
        return self.name if self.kind in _KINDS else str(labels.get(JOB, ""))

    @property
    def leaves(self) -> bool:
        return self.gone or "deletionTimestamp" in self.object["metadata"]


@dataclass
class History:
    seen: list[Seen] = field(default_factory=list)

    def of(self, job: str) -> Iterator[Seen]:
        return (seen for seen in sorted(self.seen, key=lambda seen: seen.version) if seen.job == job)

    def note(self, version: str, kind: str, obj: Obj, gone: bool = False) -> None:
        self.seen.append(Seen(int(version), kind, obj, gone))


async def follow(cluster: Cluster, history: History) -> None:
    """Until it is cancelled, over the deaths of servers."""
    async with asyncio.TaskGroup() as group:
        for resource in WATCHED:
            group.create_task(_follow(cluster, resource, history))


async def _follow(cluster: Cluster, resource: Resource, history: History) -> None:
    scope = Scope(NAMESPACE)
    found = await cluster.insist(lambda client: client.list(resource, scope))
    version: str = found.version
    decoder = Decoder[dict[str, Any]](dict, resource)
    while True:
        try:
            async for change in watch(await cluster.client(), resource, scope, decoder, version=version):
                version = change.version
                if isinstance(change, Change):
                    history.note(version, resource.kind, change.object, change.type == "DELETED")
        except (*PASSING, errors.Unauthorized):
            await asyncio.sleep(0.05)


class Line(NamedTuple):
    """Something a launcher or a replica wrote down."""

    job: str
    launcher: str
    """The uid of its pod."""
    what: dict[str, Any]


def accounts(shared: Path) -> list[Line]:
    found = []
    for path in sorted(shared.glob("*.jsonl")):
        job, launcher, _ = path.name.split(".")
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):  # the last one of a launcher that was killed may be half a line
                found.append(Line(job, launcher, json.loads(line)))
    return sorted(found, key=lambda line: float(line.what["at"]))
