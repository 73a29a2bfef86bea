# SPDX-License-Identifier: Apache-2.0
"""Checks that a cluster has what the operator needs: definitions of the job kinds, and rights."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from springtide.api.kinds.resource import Resource as Definition
from springtide.controllers.caches import groups_of, made_by
from springtide.controllers.scalers.cache import resource_of
from springtide.jobs.served import Served
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.request import Request, Scope
from springtide.kube.resources import Resource

logger = logging.getLogger(__name__)


class MissingError(Exception):
    """The cluster lacks something; the message states what, and how to get it."""


class _Served(msgspec.Struct):
    name: str


class _Group(msgspec.Struct):
    resources: list[_Served] = []


async def defined(client: Client, wanted: Sequence[Served], *, named: bool) -> list[tuple[Served, Resource]]:
    """The kinds that the cluster defines, with their scalers. A kind that is missing is an error if the user named it,
    otherwise a warning: a cluster for MPIJobs does not need the definitions of the others."""
    found = [(each, await _resource(client, each.definition)) for each in wanted]
    lacking = {kind.kind: await _missing(client, kind.definition, resource) for kind, resource in found}
    there = [(kind, resource) for kind, resource in found if resource is not None and not lacking[kind.kind]]
    missing = {kind: definitions for kind, definitions in lacking.items() if definitions}
    if missing and (named or not there):
        every = [each for definitions in missing.values() for each in definitions]
        instead = "" if not there else f", or leave {'it' if len(missing) == 1 else 'them'} out of --kinds"
        raise MissingError(
            f"the cluster does not define {', '.join(f'{each.kind} of {each.group}' for each in every)}\n"
            f"Apply the definitions first: kubectl apply {_files(every)}{instead}"
        )
    for name, definitions in missing.items():
        kept = ",".join(kind.kind for kind, _ in there)
        logger.warning(
            "%ss are not served, because the cluster does not define %s. Apply the %s and restart the operator: "
            "kubectl apply %s. Without them: --kinds %s",
            name,
            "them" if [each.kind for each in definitions] == [name] else ", ".join(each.kind for each in definitions),
            "definition" if len(definitions) == 1 else "definitions",
            _files(definitions),
            kept,
        )
    return there


async def _missing(client: Client, definition: Definition, resource: Resource | None) -> list[Definition]:
    """What the cluster lacks of a kind, of which it has this resource."""
    scalers = [each for each in definition.scalers if await _resource(client, each) is None]
    return [definition, *scalers] if resource is None else scalers


def _files(definitions: Sequence[Definition]) -> str:
    return " ".join(f"-f deploy/crds/{each.group}_{each.plural}.yaml" for each in definitions)


async def _resource(client: Client, definition: Definition) -> Resource | None:
    """A kind in its storage version, otherwise in another served version. Uses discovery, which every user may read."""
    for version in sorted(definition.versions, key=lambda each: not each.storage):
        if definition.plural in await _plurals(client, f"/apis/{definition.group}/{version.name}"):
            return Resource(definition.group, version.name, definition.plural, definition.kind)
    return None


async def require_rights(client: Client, kind: Served, resource: Resource, namespace: str) -> None:
    """MissingError if jobs, their scalers, or the objects that only this kind makes, may not be read. Otherwise caches
    would retry forever, and an operator without them does nothing."""
    scalers = [resource_of(each) for each in kind.definition.scalers]
    for each in (resource, *scalers, *made_by((kind.definition,))):
        try:
            await client.raw(request.list_page(each, Scope(namespace), limit=1))
        except errors.Forbidden as error:
            raise MissingError(
                f"the operator lacks rights for {kind.kind}s: {error.message}\n"
                "Give its user the rights that springtide.api.rights lists, or serve other kinds alone: --kinds NAME"
            ) from None


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
