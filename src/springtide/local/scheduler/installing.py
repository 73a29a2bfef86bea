# SPDX-License-Identifier: Apache-2.0
"""Puts the PodGroup and Queue definitions into the cluster, and the queue that groups are in by default."""

from __future__ import annotations

import asyncio
import contextlib

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Obj
from springtide.local.scheduler.definitions import DEFINITIONS
from springtide.local.scheduler.groups import DEFAULT_QUEUE, QUEUES

MANAGER = "springtide-scheduler"
PAUSE = 0.02


async def install(client: Client) -> None:
    """Idempotent; returns when the resources can be used."""
    for definition in DEFINITIONS:
        await client.apply(CUSTOMRESOURCEDEFINITIONS, definition, field_manager=MANAGER)
    for definition in DEFINITIONS:
        await _established(client, Key.of(definition))
    queue = QUEUES.describe(Key("", DEFAULT_QUEUE)) | {"spec": {"weight": 1, "reclaimable": True}}
    with contextlib.suppress(errors.AlreadyExists):
        await client.create(QUEUES, queue)


async def _established(client: Client, key: Key) -> None:
    while True:
        definition = await client.get(CUSTOMRESOURCEDEFINITIONS, key)
        if _is_established(definition):
            return
        await asyncio.sleep(PAUSE)


def _is_established(definition: Obj) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
