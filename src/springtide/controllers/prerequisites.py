# SPDX-License-Identifier: Apache-2.0
"""Checks that a cluster has what the operator needs: definitions of the job kinds, and rights."""

from __future__ import annotations

import msgspec

from springtide.api.kinds.resource import Resource as Definition
from springtide.controllers.caches import groups_of
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.request import Request, Scope
from springtide.kube.resources import Resource


class MissingError(Exception):
    """The cluster lacks something; the message states what, and how to get it."""


class _Served(msgspec.Struct):
    name: str


class _Group(msgspec.Struct):
    resources: list[_Served] = []


async def served(client: Client, definition: Definition) -> Resource:
    """A kind in its storage version, otherwise in another served version. MissingError if there is none. Uses
    discovery, which every user may read."""
    for version in sorted(definition.versions, key=lambda each: not each.storage):
        if definition.plural in await _plurals(client, f"/apis/{definition.group}/{version.name}"):
            return Resource(definition.group, version.name, definition.plural, definition.kind)
    raise MissingError(
        f"the cluster does not know {definition.kind} of {definition.group}\n"
        "Apply the definitions first: kubectl apply --server-side -f deploy/crds"
    )


async def require_rights(client: Client, resource: Resource, namespace: str) -> None:
    """Forbidden if jobs may not be read. Otherwise caches would retry forever, and an operator without them does
    nothing."""
    await client.raw(request.list_page(resource, Scope(namespace), limit=1))


async def require_groups(client: Client, scheduler: str) -> None:
    """MissingError if the cluster has no PodGroups of the API that this scheduler reads."""
    for groups in groups_of(scheduler):
        if groups.plural not in await _plurals(client, f"/apis/{groups.api_version}"):
            raise MissingError(
                f"the cluster does not know PodGroup of {groups.api_version}\n"
                f"Install the scheduler that reads it first, or leave --gang-scheduling {scheduler} away"
            )


async def _plurals(client: Client, path: str) -> set[str]:
    try:
        answer = await client.raw(Request("GET", path, headers={"Accept": "application/json"}))
    except errors.NotFound:
        return set()
    return {each.name for each in msgspec.json.decode(answer.body, type=_Group).resources}
