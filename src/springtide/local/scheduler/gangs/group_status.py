# SPDX-License-Identifier: Apache-2.0
"""Reconciles the status of PodGroups and Queues: phases, counts, and why a gang waits."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Final

from springtide.kube.client import Client
from springtide.kube.controller import Controller
from springtide.kube.events import EventRecorder
from springtide.kube.resources import Key, Obj
from springtide.local.scheduler.gangs import gangs, groups
from springtide.local.scheduler.gangs.gangs import MakeRoom, Placed, Waits
from springtide.local.scheduler.gangs.groups import QUEUES, VOLCANO_GROUPS, Group, Standing
from springtide.local.scheduler.state import amounts
from springtide.local.scheduler.state.ledger import Ledger

_QUEUE: Final = Key("", "")
"""Stands for all queues among the controller's keys, which are otherwise keys of PodGroups."""
QUEUES_AFTER: Final = 0.2
"""Delay in seconds: many groups may change at once, and each queue is counted over all of them."""


class GroupStatus:
    def __init__(self, client: Client, ledger: Ledger, component: str) -> None:
        self._client = client
        self._ledger = ledger
        self._events = EventRecorder(client, component)
        self._waits: dict[Key, Waits] = {}
        self._controller = Controller[Key]("podgroups", self._reconcile)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._events.run(), name="podgroup events")
            await self._controller.run()

    def look(self, key: Key) -> None:
        self._controller.enqueue(key)

    def look_at_those_kept_back(self) -> None:
        """Enqueues pending groups, which may have no pods yet: some operators create pods only for admitted groups."""
        for group in self._ledger.groups.values():
            if (group.view.status or {}).get("phase") == "Pending":
                self.look(group.key)

    def decided(self, group: Group, decision: Placed | Waits | MakeRoom) -> None:
        """Records the decision about a gang; a change is reported as an event."""
        key, old = group.key, self._waits.get(group.key)
        if isinstance(decision, Placed):
            self._waits.pop(key, None)
            if old is not None:
                self._events.normal(group.reference, "Scheduled", groups.READY)
        else:
            waits = self._waits[key] = decision.waits if isinstance(decision, MakeRoom) else decision
            if old is None or old.message != waits.message:
                self._events.warning(group.reference, "Unschedulable", waits.message)
        self.look(key)

    async def _reconcile(self, key: Key) -> None:
        if key == _QUEUE:
            await self._write_queues()
            return
        group = self._ledger.group_of(key)
        if group is None:
            self._waits.pop(key, None)
        else:
            await self._write_group(group)
        self._controller.enqueue(_QUEUE, QUEUES_AFTER)

    async def _write_group(self, group: Group) -> None:
        gang = self._ledger.gang(group)
        holding = gang.holding(self._ledger.snapshot)
        waits = self._waits.get(group.key)
        if waits is not None and holding >= gang.least:
            waits = None
        enqueued = waits.enqueued if waits else not gangs.kept_back(gang, self._ledger.snapshot)
        standing = Standing(gang.members, holding, waits.message if waits else "", enqueued)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted = groups.status(group, standing, now)
        old = group.view.status or {}
        if wanted == old:
            return
        # A merge patch keeps fields that it does not name, so fields to remove are named.
        body: Obj = {"status": {name: None for name in old if name not in wanted} | wanted}
        # Volcano's PodGroup has no status subresource; its status is written like any other field.
        subresource = "" if group.resource is VOLCANO_GROUPS else "status"
        await self._client.patch(group.resource, group.key, body, subresource=subresource)

    async def _write_queues(self) -> None:
        for name, view in list(self._ledger.queues.items()):
            wanted = self._queue_status(name)
            old = view.status or {}
            if wanted != old:
                body: Obj = {"status": {gone: None for gone in old if gone not in wanted} | wanted}
                await self._client.patch(QUEUES, Key("", name), body, subresource="status")

    def _queue_status(self, name: str) -> Obj:
        mine = [group for group in self._ledger.groups.values() if group.queue == name]
        phases = Counter(str((group.view.status or {}).get("phase") or "Pending").lower() for group in mine)
        held = amounts.summed(
            pod.requests
            for group in mine
            for pod in self._ledger.members(group.key)
            if self._ledger.snapshot.where(pod.uid)
        )
        allocated = {name: amounts.written(name, amount) for name, amount in sorted(held.items()) if amount}
        counted = {phase: count for phase, count in phases.items() if count}
        return {"state": "Open", "allocated": allocated} | counted
