# SPDX-License-Identifier: Apache-2.0
"""Waits until this machine's nodes are ready by heartbeats of this start, not of an earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from springtide.kube.client import Client
from springtide.kube.informer import Informer
from springtide.kube.resources import NODES, Obj
from springtide.local.supervisor.nodes.nodes import LOCAL_NODES


async def wait(client: Client, since: datetime, patience: float) -> list[str]:
    """Waits until all local nodes are ready; returns the names of those that are not after `patience` seconds."""
    nodes = Informer(client, NODES, LOCAL_NODES)
    changed = asyncio.Event()
    nodes.on_change(lambda key: changed.set())
    following = asyncio.create_task(nodes.run())

    async def all_ready() -> None:
        await nodes.wait_synced()
        while unready(nodes.objects(), since):
            changed.clear()
            await changed.wait()

    try:
        await asyncio.wait_for(all_ready(), patience)
    except TimeoutError:
        pass
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    return unready(nodes.objects(), since)


def unready(nodes: Iterable[Obj], since: datetime) -> list[str]:
    """Heartbeats have no fractions of a second, so the second of the start itself counts."""
    return [node["metadata"]["name"] for node in nodes if not _is_ready(node, since.replace(microsecond=0))]


def _is_ready(node: Obj, since: datetime) -> bool:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            seen = condition.get("lastHeartbeatTime")
            return condition["status"] == "True" and bool(seen) and datetime.fromisoformat(seen) >= since
    return False
