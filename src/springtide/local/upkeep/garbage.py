# SPDX-License-Identifier: Apache-2.0
"""Garbage collection: an object whose owners are gone goes too.

    background   the owner goes at once; its dependents are found here and deleted
    foreground   the owner waits (finalizer) until the dependents that block it are gone
    orphan       the owner waits (finalizer) until its dependents have forgotten it

`verdict` decides from plain data; the rest fetches that data and acts. A deletion carries the uid it was decided for,
so an object that was made anew under the same name is never hit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import NotFound
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import DeleteOptions, Patch, Scope
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Resource
from springtide.local.kinds.metadata import FOREGROUND, ORPHAN
from springtide.local.upkeep.heads import Head, Owner, deletable

logger = logging.getLogger(__name__)

_METADATA = Scope(metadata_only=True)
_BY_OWNER = "owner uid"
_UNSYNCED_RETRY = 0.05


class Node(NamedTuple):
    resource: Resource
    key: Key


class Tie(Enum):
    """How an owner reference stands."""

    SOLID = "the owner is there"
    DANGLING = "the owner is gone"
    WAITING = "the owner waits for its dependents to go"


@dataclass(frozen=True, slots=True)
class Verdict:
    delete: str = ""
    """Propagation policy, or empty to keep the object."""
    forget: tuple[str, ...] = ()
    """Uids of owners whose references are to be dropped."""


def verdict(head: Head, ties: dict[str, Tie], has_dependents: bool) -> Verdict:
    """What becomes of an object with owner references; `ties` by owner uid."""
    solid = [uid for uid, tie in ties.items() if tie is Tie.SOLID]
    gone = [uid for uid, tie in ties.items() if tie is not Tie.SOLID]
    if not gone:
        return Verdict()
    if solid:
        return Verdict(forget=tuple(gone))
    if Tie.WAITING in ties.values() and has_dependents:
        # Its own dependents must go first, or the waiting owner would be let go before they are.
        return Verdict(delete="Foreground")
    finalizers = head.metadata.finalizers
    if ORPHAN in finalizers:
        return Verdict(delete="Orphan")
    return Verdict(delete="Foreground" if FOREGROUND in finalizers else "Background")


def _owner_uids(head: Head) -> list[str]:
    return [owner.uid for owner in head.metadata.ownerReferences]


class GarbageCollector:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._informers, self._client = informers, client
        self._known: dict[tuple[str, str], Informer[Head]] = {}  # by group and kind
        self._resources: dict[tuple[str, str], Resource] = {}
        self._lock = asyncio.Lock()
        self.controller: Controller[Node] = Controller("garbage collector", self._reconcile, workers=4)
        self.discovery: Controller[Key] = Controller("garbage discovery", self._discover)
        self.discovery.watches(informers.of(CUSTOMRESOURCEDEFINITIONS, _METADATA, into=Head))
        self.discovery.enqueue(Key("", "start"))

    # What there is to watch

    async def _discover(self, key: Key) -> Result | None:
        async with self._lock:
            served = {(resource.group, resource.kind): resource for resource in await deletable(self._client)}
            # Not served any more, or in another version: the old one would be asked for in vain.
            for identity in [each for each, known in self._resources.items() if served.get(each) != known]:
                self._informers.drop(self._known.pop(identity))
                del self._resources[identity]
            for identity in served.keys() - self._known.keys():
                self._watch(identity, served[identity])
        return None

    def _watch(self, identity: tuple[str, str], resource: Resource) -> None:
        informer = self._informers.of(resource, _METADATA, into=Head)
        informer.add_index(_BY_OWNER, _owner_uids)
        self._known[identity], self._resources[identity] = informer, resource

        def affected(head: Head) -> Iterable[Node]:
            meta = head.metadata
            if meta.ownerReferences or meta.deletionTimestamp:
                yield Node(resource, Key(meta.namespace, meta.name))
            yield from self._dependents(meta.uid)
            yield from self._waiting_owners(head)

        informer.on_change(self.controller.enqueue, affected)

    def _dependents(self, uid: str) -> list[Node]:
        return [
            Node(self._resources[identity], key)
            for identity, informer in self._known.items()
            for key in informer.keys_where(_BY_OWNER, uid)
        ]

    def _waiting_owners(self, head: Head) -> Iterable[Node]:
        """Owners on their way out that this object may have been the last to hold back."""
        for owner in head.metadata.ownerReferences:
            informer, resource = self._known.get(owner.identity), self._resources.get(owner.identity)
            if informer is None or resource is None:
                continue
            key = Key(head.metadata.namespace if resource.namespaced else "", owner.name)
            found = informer.get(key)
            if found is not None and found.metadata.deletionTimestamp:
                yield Node(resource, key)

    # What becomes of one object

    async def _reconcile(self, node: Node) -> Result | None:
        informer = self._known.get((node.resource.group, node.resource.kind))
        head = informer.get(node.key) if informer is not None else None
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
        decided = verdict(head, ties, bool(self._dependents(meta.uid)))
        if decided.delete:
            logger.info("deleting %s %s: its owners are gone", node.resource, node.key)
            options = DeleteOptions(decided.delete, uid=meta.uid, version=meta.resourceVersion)
            await self._tolerate_absence(self._client.delete(node.resource, node.key, options))
        elif decided.forget:
            await self._forget_owners(node, head, decided.forget)

    async def _tie(self, owner: Owner, namespace: str) -> Tie:
        informer, resource = self._known.get(owner.identity), self._resources.get(owner.identity)
        if informer is None or resource is None:
            return Tie.SOLID  # a kind nobody serves: better kept than lost
        key = Key(namespace if resource.namespaced else "", owner.name)
        head = informer.get(key)
        if head is None or head.metadata.uid != owner.uid:
            head = await self._look(resource, key)  # the cache may be behind
        if head is None or head.metadata.uid != owner.uid:
            return Tie.DANGLING
        waits = head.metadata.deletionTimestamp and FOREGROUND in head.metadata.finalizers
        return Tie.WAITING if waits and owner.blockOwnerDeletion else Tie.SOLID

    async def _look(self, resource: Resource, key: Key) -> Head | None:
        found = await self._client.find(resource, key)
        return None if found is None else msgspec.convert(found, Head, strict=False)

    async def _forget_owners(self, node: Node, head: Head, uids: tuple[str, ...]) -> None:
        kept = [owner for owner in head.metadata.ownerReferences if owner.uid not in uids]
        references = [
            {name: getattr(owner, name) for name in Owner.__struct_fields__ if getattr(owner, name) is not False}
            for owner in kept
        ]
        meta = head.metadata
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resourceVersion, "ownerReferences": references}}
        await self._tolerate_absence(self._client.patch(node.resource, node.key, patch, Patch.MERGE))

    # What a deleted owner waits for

    async def _release(self, node: Node, head: Head) -> Result | None:
        finalizers = head.metadata.finalizers
        if not all(informer.synced for informer in self._known.values()):
            # Right after a start: an owner let go before its dependents are known would take orphans with it.
            return Result(requeue_after=_UNSYNCED_RETRY)
        if ORPHAN in finalizers:
            for dependent in self._dependents(head.metadata.uid):
                informer = self._known[dependent.resource.group, dependent.resource.kind]
                child = informer.get(dependent.key)
                if child is not None:
                    await self._forget_owners(dependent, child, (head.metadata.uid,))
            await self._drop_finalizer(node, head, ORPHAN)
        elif FOREGROUND in finalizers:
            if not self._blockers(head.metadata.uid):
                await self._drop_finalizer(node, head, FOREGROUND)
            else:
                for dependent in self._dependents(head.metadata.uid):
                    self.controller.enqueue(dependent)
        return None

    def _blockers(self, uid: str) -> list[Node]:
        found = []
        for node in self._dependents(uid):
            head = self._known[node.resource.group, node.resource.kind].get(node.key)
            if head is not None and any(o.uid == uid and o.blockOwnerDeletion for o in head.metadata.ownerReferences):
                found.append(node)
        return found

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
