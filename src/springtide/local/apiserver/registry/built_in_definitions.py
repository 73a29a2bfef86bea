# SPDX-License-Identifier: Apache-2.0
"""Protects built-in CustomResourceDefinitions from other definitions of the same name.

Manifests of training operators contain CustomResourceDefinitions. Applied over a built-in one they would change the
schema of its objects, and deleted with the manifest they would delete all of its objects. The response to a change is
the unchanged definition with a warning, which kubectl prints, so that the rest of a manifest is applied; a deletion is
rejected.
"""

from __future__ import annotations

from typing import Final

from springtide.local import status
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.dispatch import VERBS
from springtide.local.apiserver.encoding.objects import load
from springtide.local.apiserver.encoding.present import present
from springtide.local.apiserver.replies import Answer
from springtide.local.kinds.groups.apiextensions import BUILT_IN
from springtide.local.store.backend import Record

_OWNERS: Final = frozenset({"system:springtide", "system:kube-scheduler"})
"""Users who create and update the built-in definitions."""


async def handle(ctx: Context, call: Call) -> Answer:
    """Handle any verb on definitions."""
    verb = call.target.verb
    if verb == "deletecollection":
        for record in ctx.store.list(call.resource.storage):
            _refuse(call, record)
    found = ctx.store.get(call.key()) if verb in ("patch", "update", "delete") else None
    if found is None or not _is_kept(call, found):
        return await VERBS[verb](ctx, call)
    if verb == "delete":
        _refuse(call, found)
    name = call.target.name
    call.request.warnings.append(f"{name} is built into this cluster and stays as it is: the change has no effect")
    return await present(ctx, call, found)


def _is_kept(call: Call, record: Record) -> bool:
    annotations = load(record, call.resource)["metadata"].get("annotations") or {}
    return call.request.user.name not in _OWNERS and BUILT_IN in annotations


def _refuse(call: Call, record: Record) -> None:
    if _is_kept(call, record):
        why = "it is built into this cluster and stays, with all its objects"
        raise status.forbidden(call.resource.group, call.resource.plural, record.key.name, why)
