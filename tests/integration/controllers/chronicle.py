# SPDX-License-Identifier: Apache-2.0
"""Everything that was ever true in a namespace, as the API server told it, and what must have held at each moment."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.integration.controllers.background import meanwhile

from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, PODS, ROLES, Obj, Resource
from springtide.kube.watch import Change, Decoder, watch


class Chronicle:
    def __init__(self) -> None:
        self.changes: list[tuple[int, Resource, Change[Obj]]] = []

    def verify(self) -> None:
        """Versions count all writes to a server, so they tell the order of changes to different resources, too."""
        reachable: set[str] | None = None
        uids: dict[str, str] = {}
        launchers: set[str] = set()
        for _, resource, change in sorted(self.changes, key=lambda each: each[0]):
            name, obj = change.key.name, change.object
            if resource is ROLES and change.type != "DELETED":
                reachable = _reachable(obj)
            elif resource is CONFIGMAPS and change.type != "DELETED":
                listed = _listed(obj)
                assert reachable is None or listed <= reachable, f"{listed - reachable} listed, but out of reach"
            elif resource is PODS and change.type == "ADDED" and "-worker-" in name:
                assert name not in uids, f"{name} was given twice"
                uids[name] = obj["metadata"]["uid"]
            if resource is PODS and "-launcher" in name:
                launchers = _living(launchers, change)
                assert len(launchers) <= 1, f"two launchers live: {launchers}"

    def workers(self) -> list[str]:
        """All there ever were."""
        names = {change.key.name for _, resource, change in self.changes if resource is PODS}
        return sorted(name for name in names if "-worker-" in name)


def _living(before: set[str], change: Change[Obj]) -> set[str]:
    uid = change.object["metadata"]["uid"]
    ended = change.object["status"].get("phase") in ("Succeeded", "Failed")
    return before - {uid} if ended or change.type == "DELETED" else before | {uid}


def _reachable(role: Obj) -> set[str]:
    rules = (rule for rule in role["rules"] if rule["resources"] == ["pods/exec"])
    return {name for rule in rules for name in rule["resourceNames"]}


def _listed(config: Obj) -> set[str]:
    script = config.get("data", {}).get("discover_hosts.sh", "")
    return set(re.findall(r"^echo ([^:.\n]+-worker-\d+)", script, re.MULTILINE))


@asynccontextmanager
async def kept(client: Client, namespace: str) -> AsyncIterator[Chronicle]:
    """Written while inside."""
    chronicle = Chronicle()

    async def follow(resource: Resource) -> None:
        scope, decoder = Scope(namespace), Decoder[Obj](dict, resource)
        listing = await client.list(resource, scope)
        async for event in watch(client, resource, scope, decoder, version=listing.version):
            if isinstance(event, Change):
                chronicle.changes.append((int(event.version), resource, event))

    async with meanwhile(*(follow(resource) for resource in (PODS, CONFIGMAPS, ROLES))):
        yield chronicle
