# SPDX-License-Identifier: Apache-2.0
"""Objects reduced to the fields of ownership, and the resources that can have owners.

Garbage collection and namespace deletion watch every object of every kind; they request metadata only and keep a few of
its fields.
"""

from __future__ import annotations

import msgspec

from springtide.kube.client import Client
from springtide.kube.request import JSON, Request
from springtide.kube.resources import Resource

_DISCOVERY = {"Accept": f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
_NEEDED = frozenset({"delete", "list", "watch"})


class Owner(msgspec.Struct, frozen=True):
    apiVersion: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    blockOwnerDeletion: bool = False

    @property
    def group(self) -> str:
        group, slash, _ = self.apiVersion.rpartition("/")
        return group if slash else ""

    @property
    def identity(self) -> tuple[str, str]:
        return self.group, self.kind


class Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""
    namespace: str = ""
    resourceVersion: str = ""
    ownerReferences: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletionTimestamp: str | None = None


class Head(msgspec.Struct, frozen=True):
    metadata: Metadata


async def deletable(client: Client) -> list[Resource]:
    """Every served resource whose objects can be listed, watched and deleted, each in its preferred version."""
    found: dict[tuple[str, str], Resource] = {}
    for path in ("/api", "/apis"):
        answer = await client.raw(Request("GET", path, headers=_DISCOVERY))
        for group in msgspec.json.decode(answer.body)["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                for entry in version["resources"]:
                    if _NEEDED.issubset(entry["verbs"]):
                        resource = Resource(
                            name,
                            version["version"],
                            entry["resource"],
                            entry["responseKind"]["kind"],
                            entry["scope"] == "Namespaced",
                        )
                        found.setdefault((name, resource.plural), resource)
    found.pop(("events.k8s.io", "events"), None)  # the same objects as core events
    return list(found.values())
