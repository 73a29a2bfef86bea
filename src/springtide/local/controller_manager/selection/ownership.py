# SPDX-License-Identifier: Apache-2.0
"""Ownership: controller references, adoption by selector, release when labels no longer match.

An object without a managing owner that matches a controller's selector is adopted; a managed object that no longer
matches is released. `claim_on` decides, `Keeper` acts. Before an adoption the owner is read from the server: a cache
may not show yet that it is being deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

import msgspec

from springtide.event_loop.slices import in_slices
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Retry
from springtide.kube.request import Patch
from springtide.kube.resources import Key, Obj, Resource
from springtide.local.kinds.label_selectors import NOTHING, Selector, SelectorError, from_object

_LONGEST_KNOWN = 4096  # bytes of a selector; many longer ones would fill the memory
_LONG_ONES = 8 << 20  # bytes of all longer ones that are kept, which take ten times as much when parsed

T = TypeVar("T")


def selector_of(selector: Obj | None) -> Selector:
    """The selector of a workload; an invalid one selects nothing."""
    if selector is None:
        return NOTHING
    encoded = msgspec.json.encode(selector)
    return _known(encoded) if len(encoded) <= _LONGEST_KNOWN else _LONG.parsed(encoded)


def parsed(selector: Obj | None) -> Selector:
    """As `selector_of`, for callers that keep the result; only short selectors are cached."""
    if selector is None:
        return NOTHING
    encoded = msgspec.json.encode(selector)
    return _known(encoded) if len(encoded) <= _LONGEST_KNOWN else _parsed(encoded)


class _LongSelectors:
    """A cache of parsed selectors by digest, limited to `_LONG_ONES` bytes; the oldest are evicted first."""

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[Selector, int]] = {}
        self._bytes = 0

    def parsed(self, encoded: bytes) -> Selector:
        digest = blake2b(encoded, digest_size=32).digest()
        found = self._kept.get(digest)
        if found is None:
            found = self._kept[digest] = (_parsed(encoded), len(encoded))
            self._bytes += len(encoded)
            while self._bytes > _LONG_ONES:
                self._bytes -= self._kept.pop(next(iter(self._kept)))[1]
        return found[0]


_LONG = _LongSelectors()


@lru_cache(maxsize=4096)
def _known(encoded: bytes) -> Selector:
    return _parsed(encoded)


def _parsed(encoded: bytes) -> Selector:
    try:
        return from_object(msgspec.json.decode(encoded))
    except SelectorError:
        return NOTHING


def reference(resource: Resource, owner: Obj) -> Obj:
    """An entry of `ownerReferences` that makes `owner` the manager."""
    metadata = owner["metadata"]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def manager_of(obj: Obj) -> Obj | None:
    """The entry of `ownerReferences` that names the managing owner."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in references if owner.get("controller")), None)


class Belonging(NamedTuple):
    """The fields of an object, of any kind, that decide about ownership."""

    key: Key
    uid: str
    labels: Mapping[str, str]
    manager: str
    """Uid of the managing owner, or empty."""
    deleting: bool


class Claim(Enum):
    """The action of an owner on one object."""

    KEEP = "it belongs to the owner"
    ADOPT = "it matches and has no manager"
    RELEASE = "it has the owner as its manager and matches no longer"
    IGNORE = "it is not the owner's business"


def claim_on(owner: Obj, selector: Selector, found: Belonging) -> Claim:
    """The action of the owner on the object; an owner that is being deleted changes nothing."""
    leaving = "deletionTimestamp" in owner["metadata"]
    if found.manager == owner["metadata"]["uid"]:
        if selector.matches(found.labels):
            return Claim.KEEP
        return Claim.IGNORE if leaving else Claim.RELEASE
    if found.manager or leaving or found.deleting or not selector.matches(found.labels):
        return Claim.IGNORE
    return Claim.ADOPT


class Keeper(Generic[T]):
    """Adopts and releases objects of one kind for owners of another."""

    def __init__(
        self,
        client: Client,
        owners: Resource,
        owned: Resource,
        describe: Callable[[T], Belonging],
        *,
        finalizer: str = "",
    ) -> None:
        self._client, self._owners, self._owned = client, owners, owned
        self._describe, self._finalizer = describe, finalizer

    async def claim(self, owner: Obj, selector: Selector, found: Iterable[T]) -> list[T]:
        """Those of `found` that belong to the owner, after adopting and releasing where needed."""
        kept: list[T] = []
        others: dict[Claim, list[T]] = {Claim.ADOPT: [], Claim.RELEASE: [], Claim.IGNORE: []}
        async for obj in in_slices(found):
            decided = claim_on(owner, selector, self._describe(obj))
            (kept if decided is Claim.KEEP else others[decided]).append(obj)
        for obj in others[Claim.RELEASE]:
            await self._release(owner, self._describe(obj))
        if others[Claim.ADOPT]:
            await self._check_alive(owner)
        adopted = [obj for obj in others[Claim.ADOPT] if await self._adopt(owner, self._describe(obj))]
        return [*kept, *adopted]

    async def _check_alive(self, owner: Obj) -> None:
        fresh = await self._client.find(self._owners, Key.of(owner))
        if fresh is None or fresh["metadata"]["uid"] != owner["metadata"]["uid"]:
            raise Retry(f'{self._owners.kind} "{Key.of(owner)}" is gone')
        if "deletionTimestamp" in fresh["metadata"]:
            raise Retry(f'{self._owners.kind} "{Key.of(owner)}" is being deleted')

    async def _adopt(self, owner: Obj, found: Belonging) -> bool:
        metadata: Obj = {"uid": found.uid, "ownerReferences": [reference(self._owners, owner)]}
        if self._finalizer:
            metadata["finalizers"] = [self._finalizer]
        try:
            await self._client.patch(self._owned, found.key, {"metadata": metadata}, Patch.STRATEGIC)
        except errors.NotFound:
            return False
        return True

    async def _release(self, owner: Obj, found: Belonging) -> None:
        forgotten = {"$patch": "delete", "uid": owner["metadata"]["uid"]}
        metadata: Obj = {"uid": found.uid, "ownerReferences": [forgotten]}
        if self._finalizer:
            metadata["$deleteFromPrimitiveList/finalizers"] = [self._finalizer]
        try:
            await self._client.patch(self._owned, found.key, {"metadata": metadata}, Patch.STRATEGIC)
        except (errors.NotFound, errors.Invalid):
            return  # deleted, or another object of the same name: not ours either way
