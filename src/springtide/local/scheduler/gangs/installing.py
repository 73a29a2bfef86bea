# SPDX-License-Identifier: Apache-2.0
"""Installs the PodGroup and Queue definitions and the default queue."""

from __future__ import annotations

import contextlib

from springtide.kube import definitions, errors
from springtide.kube.client import Client
from springtide.kube.resources import Key
from springtide.local.kinds.groups.apiextensions import BUILT_IN
from springtide.local.scheduler.gangs.definitions import DEFINITIONS
from springtide.local.scheduler.gangs.groups import DEFAULT_QUEUE, QUEUES

MANAGER = "springtide-scheduler"


async def install(client: Client) -> None:
    """Idempotent; returns when the resources can be used."""
    await definitions.install(client, [definitions.annotated(each, BUILT_IN) for each in DEFINITIONS], MANAGER)
    queue = QUEUES.describe(Key("", DEFAULT_QUEUE)) | {"spec": {"weight": 1, "reclaimable": True}}
    with contextlib.suppress(errors.AlreadyExists):
        await client.create(QUEUES, queue)
