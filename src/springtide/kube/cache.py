# SPDX-License-Identifier: Apache-2.0
"""Objects by key, with indexes: the current state of an informer.

Reading never awaits, so everything read between two awaits is consistent. Objects are shared by all readers and must
not be changed. Only the informer writes to the cache; nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from springtide.kube.resources import Key

T = TypeVar("T")

IndexFunction = Callable[[T], Iterable[Hashable]]
"""The values under which an object is indexed, any number of them: owner uids, node names ..."""


class Replaced(NamedTuple, Generic[T]):
    """The effect of a write: an object was added (`old` is None), changed, or removed (`new` is None)."""

    key: Key
    old: T | None
    new: T | None


class _Entry(NamedTuple, Generic[T]):
    version: str
    object: T


@dataclass(slots=True)
class _Index(Generic[T]):
    values_of: IndexFunction[T]
    keys: dict[Hashable, set[Key]] = field(default_factory=dict)

    def add(self, key: Key, obj: T) -> None:
        for value in self.values_of(obj):
            self.keys.setdefault(value, set()).add(key)

    def remove(self, key: Key, obj: T) -> None:
        for value in self.values_of(obj):
            keys = self.keys.get(value)
            if keys is None:
                continue
            keys.discard(key)
            if not keys:
                del self.keys[value]


class Cache(Generic[T]):
    def __init__(self) -> None:
        self._entries: dict[Key, _Entry[T]] = {}
        self._indexes: dict[str, _Index[T]] = {}
        self._namespaces: dict[str, set[Key]] = {}

    # Reading

    def get(self, key: Key) -> T | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.object

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def version(self, key: Key) -> str:
        """The resourceVersion of a cached object, or empty."""
        entry = self._entries.get(key)
        return "" if entry is None else entry.version

    def objects(self, namespace: str = "") -> list[T]:
        """All objects, or those of one namespace, in no particular order."""
        if not namespace:
            return [entry.object for entry in self._entries.values()]
        return [self._entries[key].object for key in self._namespaces.get(namespace, ())]

    def keys_where(self, index: str, value: Hashable) -> frozenset[Key]:
        return frozenset(self._indexes[index].keys.get(value, ()))

    def where(self, index: str, value: Hashable) -> list[T]:
        """The objects indexed under a value; KeyError if there is no such index."""
        return [self._entries[key].object for key in self._indexes[index].keys.get(value, ())]

    def count_where(self, index: str, value: Hashable) -> int:
        """How many objects `where` would return."""
        return len(self._indexes[index].keys.get(value, ()))

    def add_index(self, name: str, values_of: IndexFunction[T]) -> None:
        """May be called at any time. Adding the same function again has no effect; ValueError for another function
        under a known name."""
        known = self._indexes.get(name)
        if known is not None:
            if known.values_of is not values_of:
                raise ValueError(f'there is already another index "{name}"')
            return
        index = self._indexes[name] = _Index(values_of)
        for key, entry in self._entries.items():
            index.add(key, entry.object)

    # Writing

    def put(self, key: Key, version: str, obj: T) -> Replaced[T]:
        old = self._take(key)
        self._entries[key] = _Entry(version, obj)
        self._namespaces.setdefault(key.namespace, set()).add(key)
        for index in self._indexes.values():
            index.add(key, obj)
        return Replaced(key, old, obj)

    def remove(self, key: Key) -> Replaced[T] | None:
        old = self._take(key)
        return None if old is None else Replaced(key, old, None)

    def emptied(self) -> Cache[T]:
        """An empty cache with the same indexes, to be filled and passed to `take_over`."""
        other: Cache[T] = Cache()
        for name, index in self._indexes.items():
            other.add_index(name, index.values_of)
        return other

    def take_over(self, other: Cache[T]) -> list[Replaced[T]]:
        """Replace the contents with those of the other cache, which must not be used any more; return the changes.

        Objects whose version has not changed are not among the changes.
        """
        before, after = self._entries, other._entries
        changes: list[Replaced[T]] = [
            Replaced(key, entry.object, None) for key, entry in before.items() if key not in after
        ]
        for key, entry in after.items():
            old = before.get(key)
            if old is None or not entry.version or old.version != entry.version:
                changes.append(Replaced(key, None if old is None else old.object, entry.object))
        for name, index in self._indexes.items():
            other.add_index(name, index.values_of)  # indexes added while the other cache was filled
        self._entries, self._namespaces, self._indexes = after, other._namespaces, other._indexes
        return changes

    def _take(self, key: Key) -> T | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        for index in self._indexes.values():
            index.remove(key, entry.object)
        siblings = self._namespaces[key.namespace]
        siblings.discard(key)
        if not siblings:
            del self._namespaces[key.namespace]
        return entry.object
