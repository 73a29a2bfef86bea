# SPDX-License-Identifier: Apache-2.0
"""All upkeep controllers in one process over one set of informers.

They are strangers to the API server: what they know they read through the Kubernetes API, and what they do anybody
with their rights could do. Adding one is a line in `CONTROLLERS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from springtide.kube.client import Client
from springtide.kube.controller import Controller, run
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.local.upkeep import namespaces
from springtide.local.upkeep.garbage import GarbageCollector

Make = Callable[[Informers, Client, EventRecorder], Controller[Any]]

CONTROLLERS: Sequence[Make] = ()


async def keep_up(client: Client) -> None:
    """Runs until cancelled."""
    informers = Informers(client)
    recorder = EventRecorder(client, "springtide")
    garbage = GarbageCollector(informers, client)
    controllers: list[Controller[Any]] = [
        garbage.discovery,
        garbage.controller,
        namespaces.controller(informers, client),
    ]
    controllers += [make(informers, client, recorder) for make in CONTROLLERS]
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run(), name="event recorder")
        group.create_task(run(informers, controllers), name="upkeep")
