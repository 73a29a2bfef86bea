# SPDX-License-Identifier: Apache-2.0
"""A cache of a resource that keeps itself up to date: list, then watch.

    pods = informers.of(PODS, into=Pod)             # Pod: a msgspec struct with only the fields that are read
    pods.add_index("node", lambda pod: [pod.spec.node_name])
    pods.on_change(queue.add, keys=owned_by(JOBS))
    await pods.wait_synced()
    pods.get(Key("default", "p")), pods.where("node", "a")

Handlers get keys, never objects or event types: they learn only that something about a key may have changed. The
initial contents are fetched by a streamed watch (`sendInitialEvents`) if the server supports that, otherwise by a list
in pages. A watch that ends is resumed from its last version; if that version is no longer available (410) everything is
fetched again, and handlers are called only for differences.

A writer may pass the server's response to `absorb`, so that the cache is never older than its own writes; the same
change from the watch is then ignored. This compares versions, as numbers, which API servers use for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Any, TypeVar, overload

from springtide.event_loop.slices import in_slices
from springtide.kube import errors
from springtide.kube.cache import Cache, Replaced
from springtide.kube.client import Client
from springtide.kube.request import EVERYTHING, Scope
from springtide.kube.resources import Key, Obj, Resource
from springtide.kube.watch import Bookmark, Change, Decoder, watch
from springtide.kube.workqueue import Backoff

T = TypeVar("T")
logger = logging.getLogger(__name__)

BACKOFF = Backoff(base=0.2, limit=30.0)
BRIEF = 1.0
"""A watch that the server ends without an event within this many seconds counts as a failure, to avoid a busy loop."""

_REFUSALS = (errors.Invalid, errors.BadRequest, errors.ServerError)
"""The responses of a server that cannot stream initial contents: not enabled, or (a 500) its etcd is too old."""


class Informer(Cache[T]):
    """A cache that `run` keeps up to date."""

    @overload
    def __init__(self: Informer[Obj], client: Client, resource: Resource, scope: Scope = ...) -> None: ...

    @overload
    def __init__(self, client: Client, resource: Resource, scope: Scope = ..., *, into: type[T]) -> None: ...

    def __init__(
        self, client: Client, resource: Resource, scope: Scope = EVERYTHING, *, into: type[Any] = dict
    ) -> None:
        super().__init__()
        self.resource = resource
        self.scope = scope
        self._client = client
        self._decoder: Decoder[T] = Decoder(into, resource)
        self._subscriptions: list[Callable[[Replaced[T]], None]] = []
        self._synced = asyncio.Event()
        self._version = ""
        self._initial_events = True
        """Whether the server is assumed to support WatchList; the first attempt decides."""
        self._ahead: dict[Key, int] = {}
        """Versions of absorbed objects that the watch has not reached yet."""

    def on_change(self, handler: Callable[[Any], None], keys: Callable[[T], Iterable[Any]] | None = None) -> None:
        """Call `handler` with the key of each object that is added, changed or removed.

        With `keys`, call it instead with each key that this function returns for the object before and after, such as
        the owner's. A late subscriber is called for all existing objects.
        """

        def notify(change: Replaced[T]) -> None:
            if keys is None:
                handler(change.key)
                return
            affected = dict.fromkeys(keys(change.old)) if change.old is not None else {}
            if change.new is not None:
                affected |= dict.fromkeys(keys(change.new))
            for key in affected:
                handler(key)

        self.on_replace(notify)

    def on_replace(self, handler: Callable[[Replaced[T]], None]) -> None:
        """Call `handler` with each object before and after its change, for handlers that ignore most changes."""
        self._subscriptions.append(handler)
        for key, entry in self._entries.items():
            handler(Replaced(key, None, entry.object))

    @property
    def synced(self) -> bool:
        """Whether the cache has been filled for the first time."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def absorb(self, answer: bytes) -> None:
        """Store an object from the server's response to a write, unless the watch has passed its version already."""
        decoded = self._decoder(answer)
        if decoded is None:
            return
        version = _number(decoded.version)
        if version > max(_number(self._version), _number(self.version(decoded.key))) and self._version:
            self._ahead[decoded.key] = version
            self._notify(self.put(decoded.key, decoded.version, decoded.object))

    async def run(self) -> None:
        """Runs until cancelled. Errors are logged and retried with back-off."""
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            started, before = loop.time(), self._version
            try:
                await self._follow()
                idle = self._version == before and loop.time() - started < BRIEF
                failures = failures + 1 if idle else 0
            except errors.Expired:
                logger.info("The history of %s was compacted during the watch; listing all again", self.resource)
                # Twice in a row without progress is not an expired history but a server in trouble.
                failures = failures + 1 if not before else 0
                self._version = ""
            except errors.ApiError as error:
                failures = 1 if self._version != before else failures + 1
                logger.warning("Cannot watch %s: %s", self.resource, error)
            if failures:
                await asyncio.sleep(BACKOFF.delay(failures - 1))

    async def _follow(self) -> None:
        """One watch, after a list if necessary. Returns when the server ends it."""
        if not self._version and self._initial_events:
            try:
                await self._follow_from_start()
                return
            except _REFUSALS as refusal:
                if self._version:
                    raise
                logger.info("The server refuses to stream the initial %s, listing them: %s", self.resource, refusal)
                self._initial_events = False
        if not self._version:
            await self._fill_from_list()
        stream = watch(self._client, self.resource, self.scope, self._decoder, version=self._version)
        async with aclosing(stream) as events:
            async for event in events:
                self._take_in(event)

    async def _follow_from_start(self) -> None:
        stream = watch(self._client, self.resource, self.scope, self._decoder, initial_events=True)
        fresh: dict[Key, tuple[str, T]] | None = {}
        async with aclosing(stream) as events:
            async for event in events:
                if fresh is None:
                    self._take_in(event)
                elif isinstance(event, Change):
                    _collect(fresh, event)
                elif event.initial_events_end:
                    await self._fill(fresh, event.version)
                    fresh = None

    async def _fill_from_list(self) -> None:
        raws, version = await self._client.list_raw(self.resource, self.scope)
        decoded = [item async for raw in in_slices(raws) if (item := self._decoder(raw))]
        await self._fill({item.key: (item.version, item.object) for item in decoded}, version)

    async def _fill(self, fresh: dict[Key, tuple[str, T]], version: str) -> None:
        """Replace the contents at one moment; indexes are built before it and handlers called after it, in slices."""
        self._pass(version)
        fresh |= {key: self._known(key) for key in self._ahead if key in self}
        filled = self.emptied()
        async for key, (found, obj) in in_slices(fresh.items()):
            filled.put(key, found, obj)
        async for change in in_slices(self.take_over(filled)):
            self._notify(change)
        self._version = version
        self._synced.set()

    def _known(self, key: Key) -> tuple[str, T]:
        entry = self._entries[key]
        return entry.version, entry.object

    def _pass(self, version: str) -> None:
        """The watch has reached this version: forget absorbed objects up to it."""
        if self._ahead:
            here = _number(version)
            self._ahead = {key: ahead for key, ahead in self._ahead.items() if ahead > here}

    def _take_in(self, event: Change[T] | Bookmark) -> None:
        if isinstance(event, Change) and not self._echoes(event):
            if event.type == "DELETED":
                change = self.remove(event.key)
            else:
                change = self.put(event.key, event.version, event.object)
            if change is not None:
                self._notify(change)
        self._version = event.version
        self._pass(event.version)

    def _echoes(self, event: Change[T]) -> bool:
        """Whether this version of the object, or a later one, was absorbed before."""
        ahead = self._ahead.get(event.key, 0)
        here = _number(event.version)
        return here < ahead or (here == ahead != 0 and event.type != "DELETED")

    def _notify(self, change: Replaced[T]) -> None:
        for notify in self._subscriptions:
            notify(change)


def _number(version: str) -> int:
    """0 for a version that is not a number: then nothing is ever absorbed."""
    return int(version) if version.isdigit() else 0


def _collect(fresh: dict[Key, tuple[str, T]], change: Change[T]) -> None:
    if change.type == "DELETED":
        fresh.pop(change.key, None)
    else:
        fresh[change.key] = (change.version, change.object)


class Informers:
    """One informer per resource, scope and type, shared by all controllers of a process."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._informers: dict[tuple[Resource, Scope, type[Any]], Informer[Any]] = {}
        self._tasks: dict[Informer[Any], asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    @overload
    def of(self, resource: Resource, scope: Scope = ...) -> Informer[Obj]: ...

    @overload
    def of(self, resource: Resource, scope: Scope = ..., *, into: type[T]) -> Informer[T]: ...

    def of(self, resource: Resource, scope: Scope = EVERYTHING, *, into: type[Any] = dict) -> Informer[Any]:
        """The informer for these; created on the first call, and started at once if the others run already."""
        wanted = (resource, scope, into)
        informer = self._informers.get(wanted)
        if informer is None:
            informer = self._informers[wanted] = Informer(self.client, resource, scope, into=into)
            self._start(informer)
        return informer

    def drop(self, informer: Informer[Any]) -> None:
        """Stop following a resource, for instance because its definition was deleted."""
        self._informers = {wanted: known for wanted, known in self._informers.items() if known is not informer}
        task = self._tasks.pop(informer, None)
        if task is not None:
            task.cancel()

    @property
    def synced(self) -> bool:
        """Whether all informers have been filled."""
        return all(informer.synced for informer in self._informers.values())

    async def wait_synced(self) -> None:
        for informer in list(self._informers.values()):
            await informer.wait_synced()

    async def run(self) -> None:
        """Run all informers, also those created later, until cancelled."""
        async with asyncio.TaskGroup() as self._group:
            try:
                for informer in self._informers.values():
                    self._start(informer)
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None
                self._tasks.clear()

    def _start(self, informer: Informer[Any]) -> None:
        if self._group is not None:
            name = f"informer {informer.resource}"
            self._tasks[informer] = self._group.create_task(informer.run(), name=name)
