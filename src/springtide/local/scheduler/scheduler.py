# SPDX-License-Identifier: Apache-2.0
"""The scheduling loop: tries pending pods by priority whenever a relevant change has occurred.

Level-triggered and without a timer: a pod that did not fit is retried when a node, a pod, a claim or a PodGroup has
changed in a way that may affect it. One pass tries all due pods; the next pass waits for a multiple of the duration of
the last one, so that a handful of pods is retried at once and thousands never keep the machine busy. Decisions are made
between two awaits on one `Ledger`; writes run in separate tasks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from springtide.event_loop.long_work import in_thread
from springtide.event_loop.slices import Slices
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.informer import Informers
from springtide.kube.resources import Key
from springtide.kube.workqueue import Backoff
from springtide.local.scheduler import advice, placing, preemption
from springtide.local.scheduler.gangs import gangs
from springtide.local.scheduler.gangs.gangs import MakeRoom, Placed, Waits
from springtide.local.scheduler.gangs.group_status import GroupStatus
from springtide.local.scheduler.gangs.installing import install
from springtide.local.scheduler.preparing import prepare
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.state import following
from springtide.local.scheduler.state.ledger import Change, Ledger
from springtide.local.scheduler.state.pods import Pod, Wishes, same_wishes, takes_long, wishes_of
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.storage import NO_VOLUMES, VolumePlan
from springtide.local.scheduler.state.views import PodView
from springtide.local.scheduler.units import Unit, rank, unit_of, waiting
from springtide.local.scheduler.writer import Writer

logger = logging.getLogger(__name__)

REST: Final = 4.0
"""The pause after a pass with retries, as a multiple of its duration."""
LONGEST_REST: Final = 2.0
AT_ONCE: Final = 64
"""The maximum number of concurrent writes, and of events; they share the store's disk flushes."""
BACKOFF: Final = Backoff(base=0.1, limit=10.0)


@dataclass(frozen=True)
class Options:
    strict_resources: bool = False
    """Whether cpu and memory filter nodes, or only score them."""
    scheduler_names: tuple[str, ...] = ("default-scheduler", "volcano", "scheduler-plugins-scheduler")
    flags: str = ""
    """Flags that make a `tide` command address this cluster."""


async def run(client: Client, options: Options) -> None:
    """Runs until cancelled."""
    await install(client)
    informers = Informers(client)
    scheduler = Scheduler(client, informers, options)
    async with asyncio.TaskGroup() as group:
        group.create_task(informers.run(), name="scheduler informers")
        await scheduler.run(group)


class Scheduler:
    def __init__(self, client: Client, informers: Informers, options: Options) -> None:
        self.ledger = Ledger(Snapshot(options.strict_resources), frozenset(options.scheduler_names))
        self._options = options
        self._deeds = Writer(client, lambda: datetime.now(UTC))
        self._groups = GroupStatus(client, self.ledger, options.scheduler_names[0])
        self._informers = informers
        self._due: set[Unit] = set()
        self._parked: dict[Unit, bool] = {}
        """Units that did not fit, and whether that may depend on other pods."""
        self._reserved: dict[Unit, tuple[Pod, ...]] = {}
        """Units whose volumes are being provisioned: assumed on their nodes, and bound once the volumes exist."""
        self._failures: dict[Unit, int] = {}
        self._reading: dict[Key, PodView | None] = {}
        """The newest versions of pods whose constraints are being read in a thread."""
        self._readers: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._group: asyncio.TaskGroup | None = None

    async def run(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        following.follow(self._informers, self.ledger, self)
        for recorder in self._deeds.recorders(self._options.scheduler_names):
            for _ in range(AT_ONCE):
                group.create_task(recorder.run(), name="scheduler events")
        await self._informers.wait_synced()
        await asyncio.gather(*self._readers)  # the first decisions are about all pods
        group.create_task(self._groups.run(), name="scheduler groups")
        clock = asyncio.get_running_loop().time
        while True:
            await self._wake.wait()
            self._wake.clear()
            began = clock()
            retried = await self._pass()
            # 0 too: other tasks run between two passes even if the loop is woken at once.
            await asyncio.sleep(min(LONGEST_REST, REST * (clock() - began)) if retried else 0)

    # Watching

    def pod_changed(self, key: Key, view: PodView | None) -> None:
        if key in self._reading:
            self._reading[key] = view
        elif view is not None and self._takes_long(key, view):
            self._reading[key] = view
            reading = self._spawn(self._read(key))
            self._readers.add(reading)
            reading.add_done_callback(self._readers.discard)
        else:
            self._take_in(key, view)

    def _takes_long(self, key: Key, view: PodView) -> bool:
        if not takes_long(view):
            return False
        known = self.ledger.view(key)
        return known is None or not same_wishes(known, view)

    def _take_in(self, key: Key, view: PodView | None, wishes: Wishes | None = None) -> None:
        before = self.ledger.pods.get(key)
        change = self.ledger.pod_changed(key, view, wishes)
        pod = self.ledger.pods.get(key)
        for each in (before, pod):
            if each is not None and each.group:
                self._groups.look(Key(key.namespace, each.group))
        if pod is None:
            unit = Unit(key) if before is None else unit_of(before)
            self._deeds.forget(before.uid if before else "")
            if not unit.gang:
                self._leave(unit)
        elif Change.ITSELF in change:
            self._again(unit_of(pod))
        self.changed(change)

    def group_changed(self, key: Key) -> None:
        self._groups.look(key)

    async def _read(self, key: Key) -> None:
        """Reads the constraints of a pod that has many, in a thread; then takes in its newest version."""
        while True:
            view = self._reading[key]
            wishes = None if view is None else await in_thread(wishes_of, view)
            if self._reading[key] is view:
                break
        del self._reading[key]
        self._take_in(key, view, wishes)

    def changed(self, change: Change) -> None:
        """Makes the units due that the change may affect."""
        if Change.CAPACITY in change:
            woken: Iterable[Unit] = [*self._parked, *self._reserved]
            self._groups.look_at_those_kept_back()
        elif Change.OTHER_PODS in change:
            woken = [unit for unit, sociable in self._parked.items() if sociable]
        else:
            return
        self._due.update(woken)
        if self._due:
            self._wake.set()

    def _leave(self, unit: Unit) -> None:
        self._due.discard(unit)
        self._parked.pop(unit, None)
        self._reserved.pop(unit, None)
        self._failures.pop(unit, None)

    # Deciding

    async def _pass(self) -> bool:
        """Tries all due units; True if any of them had been tried before."""
        due, self._due = self._due, set()
        retried = any(unit in self._parked for unit in due)
        ready = [unit for unit in due if self._resume(unit)]
        slices = Slices()
        for unit in sorted(ready, key=lambda unit: rank(unit, self.ledger)):
            await slices.next()
            await prepare(waiting(unit, self.ledger), self.ledger.snapshot)
            self._parked.pop(unit, None)
            pods = waiting(unit, self.ledger)  # may have changed while other tasks ran
            if pods:
                self._attempt(unit, pods)
        return retried

    def _attempt(self, unit: Unit, pods: list[Pod]) -> None:
        try:
            self._decide(unit, pods)
        except Exception:
            # The outermost loop: an error for one pod must not block all others.
            logger.exception("cannot decide about %s; trying again later", unit.key)
            self._again_later(unit)

    def _resume(self, unit: Unit) -> bool:
        """Whether the unit has pods to place. A unit that was waiting for volumes first releases its assumed nodes."""
        for pod in self._reserved.pop(unit, ()):
            self.ledger.forget(pod)
        if waiting(unit, self.ledger):
            return True
        self._leave(unit)
        return False

    def _decide(self, unit: Unit, pods: list[Pod]) -> None:
        if not unit.gang:
            found = placing.place(pods[0], self.ledger.snapshot)
            if isinstance(found, Unfit):
                self._make_room(unit, pods[0], found)
            else:
                self._assign(unit, ((pods[0], found.node.name),))
            return
        group = self.ledger.group_of(unit.key)
        if group is None:
            for pod in pods:
                self._refuse(unit, pod, f'pod group "{unit.key}" not found')
            return
        decision = gangs.plan(self.ledger.gang(group), self.ledger.snapshot)
        self._groups.decided(group, decision)
        if isinstance(decision, Placed):
            self._assign(unit, decision.nodes)
            for pod, unfit in decision.left_out:
                self._make_room(unit, pod, unfit)
        elif isinstance(decision, MakeRoom):
            self._evict_for(decision.nodes, decision.victims)
            self._refuse_gang(unit, decision.waits)
        else:
            for pod in pods:
                if pod.nominated and not decision.room_is_coming:
                    self.ledger.promise(pod, "")
            self._refuse_gang(unit, decision)

    def _make_room(self, unit: Unit, pod: Pod, unfit: Unfit) -> None:
        found = preemption.preempt(pod, unfit, self.ledger.snapshot)
        if isinstance(found, str):
            if pod.nominated and found != preemption.UNDER_WAY:
                pod = self.ledger.promise(pod, "")
            self._refuse(unit, pod, unfit.text(found))
            return
        self._evict_for(((pod, found.node),), found.victims)
        self._refuse(unit, self.ledger.pods[pod.key], unfit.text())

    def _evict_for(self, nodes: tuple[tuple[Pod, str], ...], victims: tuple[Pod, ...]) -> None:
        for pod, node in nodes:
            self.ledger.promise(pod, node)
        by = nodes[0][0]
        for victim in victims:
            if not victim.deleting:
                node = self.ledger.snapshot.where(victim.uid)
                self.ledger.condemn(victim)
                self._spawn(self._evict(victim, by, node))

    def _refuse_gang(self, unit: Unit, waits: Waits) -> None:
        why = {pod.uid: unfit.text() for pod, unfit in waits.why}
        for pod in waiting(unit, self.ledger):
            self._refuse(unit, pod, why.get(pod.uid, waits.message))

    def _refuse(self, unit: Unit, pod: Pod, message: str) -> None:
        self._parked[unit] = self._parked.get(unit, False) or pod.sociable
        view = self.ledger.view(pod.key)
        if view is not None:
            hint = advice.explained(pod, self.ledger.snapshot, self._options.flags)
            self._spawn(self._report(unit, pod, view, message, hint))

    def _assign(self, unit: Unit, nodes: tuple[tuple[Pod, str], ...]) -> None:
        """Binds all the pods; if volumes must be provisioned first, keeps the pods assumed until the volumes exist."""
        ready = True
        for pod, node in nodes:
            self.ledger.assume(pod, node)
            plan = self.ledger.volumes_for(pod, node)
            if plan is None:
                # Another member of the gang got the last volume.
                self._again_later(unit)
            elif plan != NO_VOLUMES:
                self.ledger.assume_volumes(plan, node)
                self._spawn(self._prepare(unit, plan, node))
            ready = ready and plan == NO_VOLUMES
        if not ready:
            self._reserved[unit] = tuple(pod for pod, _ in nodes)
            return
        for pod, node in nodes:
            self._spawn(self._bind(unit, pod, node))

    # Doing

    def _spawn(self, deed: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._group is not None
        return self._group.create_task(deed)

    async def _bind(self, unit: Unit, pod: Pod, node: str) -> None:
        try:
            async with self._slots:
                await self._deeds.bind(pod, node)
            self._failures.pop(unit, None)
        except errors.ApiError as error:
            logger.info("cannot bind %s to %s: %s", pod.key, node, error)
            self.ledger.forget(pod)
            self._again_later(unit)

    async def _report(self, unit: Unit, pod: Pod, view: PodView, message: str, hint: str) -> None:
        try:
            async with self._slots:
                await self._deeds.report(pod, view, message, hint)
        except errors.NotFound:
            pass  # the pod is gone
        except errors.ApiError as error:
            logger.info("cannot say why %s waits: %s", pod.key, error)
            self._again_later(unit)

    async def _evict(self, victim: Pod, by: Pod, node: str) -> None:
        view = self.ledger.view(victim.key)
        if view is None:
            return
        try:
            async with self._slots:
                await self._deeds.evict(victim, view, by, node)
        except errors.ApiError as error:
            logger.info("cannot evict %s: %s", victim.key, error)
            self.ledger.pardon(victim)
            self._again_later(unit_of(by))

    async def _prepare(self, unit: Unit, plan: VolumePlan, node: str) -> None:
        try:
            async with self._slots:
                await self._deeds.prepare_volumes(plan, node)
        except errors.ApiError as error:
            logger.info("cannot prepare volumes for %s: %s", unit.key, error)
            following.reread(self._informers, self.ledger, plan)
            self._again_later(unit)

    def _again_later(self, unit: Unit) -> None:
        failures = self._failures[unit] = self._failures.get(unit, 0) + 1
        asyncio.get_running_loop().call_later(BACKOFF.delay(failures - 1), self._again, unit)

    def _again(self, unit: Unit) -> None:
        self._due.add(unit)
        self._wake.set()
