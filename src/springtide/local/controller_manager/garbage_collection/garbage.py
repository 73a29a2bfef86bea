# SPDX-License-Identifier: Apache-2.0
"""Garbage collection: deletes an object whose owners are gone.

    background   the owner is deleted at once; its dependents are found here and deleted
    foreground   the owner waits (finalizer) until the dependents that block it are gone
    orphan       the owner waits (finalizer) until its references are removed from its dependents

Owners in a cycle would wait for each other for ever: their references to each other are made non-blocking, as in
kube-controller-manager. Only objects of the owner's namespace count as its dependents (of a cluster-scoped owner: all),
so the deletion of an owner is never blocked from another namespace.

`verdict` decides from plain data; the rest fetches that data and acts. A deletion carries the uid it was decided for,
so an object that was recreated under the same name is never deleted.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from springtide.kube.cache import Replaced
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import NotFound
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import DeleteOptions, Patch, Scope
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Resource
from springtide.local.controller_manager.garbage_collection import owner_cycles
from springtide.local.controller_manager.garbage_collection.heads import Head, Owner, deletable
from springtide.local.kinds.metadata import FOREGROUND, ORPHAN

logger = logging.getLogger(__name__)

_METADATA = Scope(metadata_only=True)
_BY_OWNER = "owner uid"
_UNSYNCED_RETRY = 0.05
_CYCLES_AFTER = 0.2
"""Seconds between finding a waiting owner and the search for cycles: most owners wait less."""
_CYCLES = Key("", "all")


class Node(NamedTuple):
    resource: Resource
    key: Key


class OwnerState(Enum):
    """The state of the owner of a reference."""

    SOLID = "the owner is there"
    DANGLING = "the owner is gone"
    WAITING = "the owner waits for its dependents to go"


@dataclass(frozen=True, slots=True)
class Verdict:
    delete: str = ""
    """Propagation policy, or empty to keep the object."""
    forget: tuple[str, ...] = ()
    """Uids of owners whose references are to be removed."""


def verdict(head: Head, ties: dict[str, OwnerState], has_dependents: bool) -> Verdict:
    """The decision about an object with owner references; `ties` by owner uid."""
    solid = [uid for uid, tie in ties.items() if tie is OwnerState.SOLID]
    gone = [uid for uid, tie in ties.items() if tie is not OwnerState.SOLID]
    if not gone:
        return Verdict()
    if solid:
        return Verdict(forget=tuple(gone))
    if OwnerState.WAITING in ties.values() and has_dependents:
        # Its own dependents must be deleted first, or the waiting owner would be released before they are.
        return Verdict(delete="Foreground")
    finalizers = head.metadata.finalizers
    if ORPHAN in finalizers:
        return Verdict(delete="Orphan")
    return Verdict(delete="Foreground" if FOREGROUND in finalizers else "Background")


def _owner_uids(head: Head) -> list[str]:
    return [owner.uid for owner in head.metadata.ownerReferences]


def _waits(head: Head) -> bool:
    """Whether the object is deleted as soon as its dependents are."""
    return head.metadata.deletionTimestamp is not None and FOREGROUND in head.metadata.finalizers


def _state(head: Head) -> tuple[str, bool]:
    """The state that decides about its dependents."""
    return head.metadata.uid, _waits(head)


def _references(head: Head | None) -> tuple[Owner, ...]:
    return () if head is None else head.metadata.ownerReferences


def _blocked_owners(head: Head) -> set[str]:
    return {owner.uid for owner in head.metadata.ownerReferences if owner.blockOwnerDeletion}


class GarbageCollector:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._informers, self._client = informers, client
        self._known: dict[tuple[str, str], Informer[Head]] = {}  # by group and kind
        self._resources: dict[tuple[str, str], Resource] = {}
        self._lock = asyncio.Lock()
        self._waiting: dict[str, Node] = {}  # by uid: objects that wait for their dependents to be deleted
        self.controller: Controller[Node] = Controller("garbage collector", self._reconcile, workers=4)
        self.cycles: Controller[Key] = Controller("owner cycles", self._break_cycles)
        self.discovery: Controller[Key] = Controller("garbage discovery", self._discover)
        self.discovery.watches(informers.of(CUSTOMRESOURCEDEFINITIONS, _METADATA, into=Head))
        self.discovery.enqueue(Key("", "start"))

    # Watched resources

    async def _discover(self, key: Key) -> Result | None:
        async with self._lock:
            served = {(resource.group, resource.kind): resource for resource in await deletable(self._client)}
            # No longer served, or in another version: requests for the old one would fail.
            for identity in [each for each, known in self._resources.items() if served.get(each) != known]:
                self._informers.drop(self._known.pop(identity))
                gone = self._resources.pop(identity)
                self._waiting = {uid: node for uid, node in self._waiting.items() if node.resource != gone}
            for identity in served.keys() - self._known.keys():
                self._watch(identity, served[identity])
        return None

    def _watch(self, identity: tuple[str, str], resource: Resource) -> None:
        informer = self._informers.of(resource, _METADATA, into=Head)
        informer.add_index(_BY_OWNER, _owner_uids)
        self._known[identity], self._resources[identity] = informer, resource
        informer.on_replace(lambda change: self._changed(resource, change))

    def _changed(self, resource: Resource, change: Replaced[Head]) -> None:
        """Enqueues objects whose verdict may have changed. Changes unrelated to ownership cause no work."""
        old, new = change.old, change.new
        node = Node(resource, change.key)
        seen = [head for head in (old, new) if head is not None]
        affected: list[Iterable[Node]] = []
        if new is not None and (new.metadata.ownerReferences or new.metadata.deletionTimestamp):
            affected.append((node,))
        if old is None or new is None or _state(old) != _state(new):
            self._note_waiting(node, old, new)
            affected += map(self._dependents, seen)
        if _references(old) != _references(new):
            affected += map(self._waiting_owners, seen)
        for each in dict.fromkeys(itertools.chain.from_iterable(affected)):
            self.controller.enqueue(each)

    def _note_waiting(self, node: Node, old: Head | None, new: Head | None) -> None:
        if old is not None:
            self._waiting.pop(old.metadata.uid, None)
        if new is not None and _waits(new):
            self._waiting[new.metadata.uid] = node

    def _dependents(self, owner: Head) -> Iterator[Node]:
        meta = owner.metadata
        for identity, informer in self._known.items():
            for key in informer.keys_where(_BY_OWNER, meta.uid):
                if meta.namespace in ("", key.namespace):
                    yield Node(self._resources[identity], key)

    def _waiting_owners(self, head: Head) -> Iterable[Node]:
        """Terminating owners that this object may have been the last to block."""
        for owner in head.metadata.ownerReferences:
            informer, resource = self._known.get(owner.identity), self._resources.get(owner.identity)
            if informer is None or resource is None:
                continue
            key = Key(head.metadata.namespace if resource.namespaced else "", owner.name)
            found = informer.get(key)
            if found is not None and found.metadata.deletionTimestamp:
                yield Node(resource, key)

    # Verdicts

    async def _reconcile(self, node: Node) -> Result | None:
        head = self._head(node)
        if head is None:
            return None
        if head.metadata.deletionTimestamp:
            return await self._release(node, head)
        if head.metadata.ownerReferences:
            await self._judge(node, head)
        return None

    async def _judge(self, node: Node, head: Head) -> None:
        meta = head.metadata
        ties = {owner.uid: await self._tie(owner, meta.namespace) for owner in meta.ownerReferences}
        decided = verdict(head, ties, any(True for _ in self._dependents(head)))
        if decided.delete:
            logger.info("deleting %s %s: its owners are gone", node.resource, node.key)
            options = DeleteOptions(decided.delete, uid=meta.uid, version=meta.resourceVersion)
            await self._tolerate_absence(self._client.delete(node.resource, node.key, options))
        elif decided.forget:
            await self._forget_owners(node, head, decided.forget)

    async def _tie(self, owner: Owner, namespace: str) -> OwnerState:
        informer, resource = self._known.get(owner.identity), self._resources.get(owner.identity)
        if informer is None or resource is None:
            return OwnerState.SOLID  # a kind that is not served: kept to be safe
        if resource.namespaced and not namespace:
            return OwnerState.SOLID  # invalid for a cluster-scoped object, and cannot be looked up
        key = Key(namespace if resource.namespaced else "", owner.name)
        head = informer.get(key)
        if head is None or head.metadata.uid != owner.uid:
            head = await self._look(resource, key)  # the cache may lag behind
        if head is None or head.metadata.uid != owner.uid:
            return OwnerState.DANGLING
        return OwnerState.WAITING if _waits(head) and owner.blockOwnerDeletion else OwnerState.SOLID

    async def _look(self, resource: Resource, key: Key) -> Head | None:
        await asyncio.sleep(0)  # yields: an in-process read awaits nothing, and an object may name thousands of owners
        found = await self._client.find(resource, key)
        return None if found is None else msgspec.convert(found, Head, strict=False)

    async def _forget_owners(self, node: Node, head: Head, uids: tuple[str, ...]) -> None:
        forgotten = frozenset(uids)
        kept = [owner for owner in head.metadata.ownerReferences if owner.uid not in forgotten]
        await self._write_owners(node, head, kept)

    async def _write_owners(self, node: Node, head: Head, owners: Iterable[Owner]) -> None:
        references = [
            {name: getattr(owner, name) for name in Owner.__struct_fields__ if getattr(owner, name) is not False}
            for owner in owners
        ]
        meta = head.metadata
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resourceVersion, "ownerReferences": references}}
        await self._tolerate_absence(self._client.patch(node.resource, node.key, patch, Patch.MERGE))

    # Terminating owners

    async def _release(self, node: Node, head: Head) -> Result | None:
        finalizers = head.metadata.finalizers
        if not all(informer.synced for informer in self._known.values()):
            # Right after a start: an owner released before its dependents are known would leave them orphaned.
            return Result(requeue_after=_UNSYNCED_RETRY)
        if ORPHAN in finalizers:
            for dependent in list(self._dependents(head)):
                child = self._head(dependent)
                if child is not None:
                    await self._forget_owners(dependent, child, (head.metadata.uid,))
            await self._drop_finalizer(node, head, ORPHAN)
        elif FOREGROUND in finalizers:
            # Dependents were enqueued when their owner began to wait; here only the last of them is awaited.
            if any(True for _ in self._blockers(head)):
                self.cycles.enqueue(_CYCLES, _CYCLES_AFTER)
            else:
                await self._drop_finalizer(node, head, FOREGROUND)
        return None

    def _head(self, node: Node) -> Head | None:
        informer = self._known.get((node.resource.group, node.resource.kind))
        return None if informer is None else informer.get(node.key)

    def _blockers(self, owner: Head) -> Iterator[Head]:
        uid = owner.metadata.uid
        for node in self._dependents(owner):
            head = self._head(node)
            if head is not None and any(o.uid == uid and o.blockOwnerDeletion for o in head.metadata.ownerReferences):
                yield head

    async def _break_cycles(self, key: Key) -> None:
        """Makes the references non-blocking by which waiting objects block each other."""
        waiting = {uid: head for uid, node in self._waiting.items() if (head := self._head(node)) is not None}
        held_back = {uid: _blocked_owners(head) & waiting.keys() for uid, head in waiting.items()}
        if not any(held_back.values()):
            return
        for members in await asyncio.to_thread(owner_cycles.cycles, held_back):
            logger.info("%d objects own each other in a cycle; none blocks the others' deletion any more", len(members))
            for uid in members:
                node = self._waiting.get(uid)
                if node is None:
                    continue  # deleted meanwhile
                released = [
                    msgspec.structs.replace(owner, blockOwnerDeletion=False) if owner.uid in members else owner
                    for owner in waiting[uid].metadata.ownerReferences
                ]
                await self._write_owners(node, waiting[uid], released)

    async def _drop_finalizer(self, node: Node, head: Head, finalizer: str) -> None:
        meta = head.metadata
        kept = [name for name in meta.finalizers if name != finalizer]
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resourceVersion, "finalizers": kept}}
        await self._tolerate_absence(self._client.patch(node.resource, node.key, patch, Patch.MERGE))

    async def _tolerate_absence(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except NotFound:
            return
