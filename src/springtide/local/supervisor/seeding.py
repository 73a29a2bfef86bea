# SPDX-License-Identifier: Apache-2.0
"""What an embedded cluster has for training jobs before anybody asks: their definitions, the namespaces that people's
manifests and documents use, and the operator's rights.

Run by the server at every start, before it says that it is up: definitions of an earlier version are brought up to
date, and whatever was deleted comes back. Somebody's webhook may be in the way of any of it. That is no reason to have
no cluster, in which alone the webhook could be mended: it is noted, and the next start tries again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from http import HTTPStatus

from springtide.api.kinds.registry import RESOURCES
from springtide.api.rights import rules
from springtide.api.schema.definitions import definition
from springtide.kube import definitions, errors
from springtide.kube.client import Client
from springtide.kube.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, NAMESPACES, Key
from springtide.local.access.pki import OPERATOR
from springtide.local.kinds.groups.apiextensions import BUILT_IN

MANAGER = "springtide"
_ROLE = Key("", "springtide-operator")
_NAMESPACES = ("mpi-operator", "kubeflow")


async def seed(client: Client) -> tuple[str, ...]:
    """Notes on what was refused; ApiError when it is the server itself that fails."""
    wanted = [definitions.annotated(definition(resource), BUILT_IN) for resource in RESOURCES]
    notes = await asyncio.gather(
        _tried("the definitions of training jobs", definitions.install(client, wanted, MANAGER)),
        _tried("the operator's rights", _grant(client)),
        *(_tried(f"namespace {name}", _make_namespace(client, name)) for name in _NAMESPACES),
    )
    return tuple(note for note in notes if note)


async def _tried(what: str, work: Awaitable[None]) -> str:
    try:
        await work
    except errors.Unreachable:
        raise
    except errors.ApiError as error:
        if error.code == HTTPStatus.INSUFFICIENT_STORAGE:
            raise
        said = " ".join(error.message.split())
        return f"{what} could not be brought up to date; mend what is in the way, then tide down and tide up: {said}"
    return ""


async def _make_namespace(client: Client, name: str) -> None:
    with contextlib.suppress(errors.AlreadyExists):
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", name)))


async def _grant(client: Client) -> None:
    role = CLUSTERROLES.describe(_ROLE) | {"rules": rules()}
    binding = CLUSTERROLEBINDINGS.describe(_ROLE) | {
        "roleRef": {"apiGroup": CLUSTERROLES.group, "kind": CLUSTERROLES.kind, "name": _ROLE.name},
        "subjects": [{"apiGroup": CLUSTERROLES.group, "kind": "User", "name": OPERATOR}],
    }
    await client.apply(CLUSTERROLES, role, field_manager=MANAGER)
    try:
        await client.apply(CLUSTERROLEBINDINGS, binding, field_manager=MANAGER)
    except errors.Invalid:  # it leads to another role, by an earlier version or by hand, and cannot be turned round
        await client.delete(CLUSTERROLEBINDINGS, _ROLE)
        await client.apply(CLUSTERROLEBINDINGS, binding, field_manager=MANAGER)
