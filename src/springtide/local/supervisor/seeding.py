# SPDX-License-Identifier: Apache-2.0
"""The objects that training jobs require in an embedded cluster: definitions, common namespaces, the operator's rights.

Run by the server at every start, before it reports that it is up: older definitions are updated, and deleted objects
are recreated. A user's webhook may reject any of these. The server starts nevertheless, because the webhook can be
repaired only in a running cluster: the rejection is noted, and the next start retries.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from http import HTTPStatus

from springtide.api.kinds.registry import DEFINED
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
    """Notes on rejected objects; ApiError when the server itself fails."""
    wanted = [definitions.annotated(definition(resource), BUILT_IN) for resource in DEFINED]
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
    except errors.Invalid:  # it refers to another role, by an earlier version or by hand, and roleRef is immutable
        await client.delete(CLUSTERROLEBINDINGS, _ROLE)
        await client.apply(CLUSTERROLEBINDINGS, binding, field_manager=MANAGER)
