# SPDX-License-Identifier: Apache-2.0
"""Installs CustomResourceDefinitions in a cluster, and waits until their resources are served."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from springtide.kube.client import Client
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Obj

_PAUSE = 0.02


async def install(client: Client, definitions: Sequence[Obj], field_manager: str) -> None:
    """Idempotent; definitions of an earlier version are updated in place."""
    for definition in definitions:
        await client.apply(CUSTOMRESOURCEDEFINITIONS, definition, field_manager=field_manager)
    for definition in definitions:
        await _established(client, Key.of(definition))


def annotated(definition: Obj, name: str) -> Obj:
    """A copy with this annotation set to "true"."""
    metadata = definition["metadata"]
    annotations = {**(metadata.get("annotations") or {}), name: "true"}
    return definition | {"metadata": metadata | {"annotations": annotations}}


async def _established(client: Client, key: Key) -> None:
    while True:
        if _is_established(await client.get(CUSTOMRESOURCEDEFINITIONS, key)):
            return
        await asyncio.sleep(_PAUSE)


def _is_established(definition: Obj) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
