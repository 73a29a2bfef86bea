# SPDX-License-Identifier: Apache-2.0
"""Follows objects of a cluster, and calls back with all of them whenever one has changed.

On a terminal it calls back every second, too, because ages are shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from springtide.cli.connecting import Target
from springtide.cli.tide_jobs.output import screen
from springtide.kube.request import Scope
from springtide.kube.resources import Obj, Resource

Selection = tuple[Resource, Scope]
Shown = Callable[[Sequence[Sequence[Obj]]], bool]
"""Gets the objects of each selection; whether it has seen enough."""

_EVERY: Final = 1.0
_PAUSE: Final = 0.2
"""Seconds between two calls at least: many objects change together."""


def follow(target: Target, selections: Sequence[Selection], shown: Shown) -> None:
    async def conversation(client: Any) -> None:
        # Imported here because commands that do not watch start faster without.
        from springtide.kube.informer import Informer  # noqa: PLC0415

        informers = [Informer(client, resource, scope) for resource, scope in selections]
        changed = asyncio.Event()
        for informer in informers:
            informer.on_change(lambda key: changed.set())
        tasks = [asyncio.create_task(informer.run()) for informer in informers]
        try:
            for informer in informers:
                await informer.wait_synced()
            await _call_back(lambda: shown([informer.objects() for informer in informers]), changed)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    target.talk(conversation, streams=True)


async def _call_back(shown: Callable[[], bool], changed: asyncio.Event) -> None:
    while True:
        changed.clear()
        if shown():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), _EVERY if screen.is_live() else None)
        await asyncio.sleep(_PAUSE)
