# SPDX-License-Identifier: Apache-2.0
"""The one small interface between the API server and whatever keeps its objects.

Everything is served from memory; a write is acknowledged, and seen by anyone, only when it is durable. Bodies are
encoded JSON objects *without* `kind` and `apiVersion` (the answer's prefix supplies them, so every served version of a
resource shares one body) and never change: a new revision is a new record.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol


class Key(NamedTuple):
    resource: str
    """`pods`, or `mpijobs.kubeflow.org`: plural and group, the same for all versions."""
    namespace: str  # empty for cluster-scoped resources
    name: str


@dataclass(frozen=True, slots=True)
class Record:
    key: Key
    revision: int
    body: bytes
    fields: tuple[object, dict[str, str]] | None = field(default=None, init=False, compare=False, repr=False)
    """What was read from the body for field selectors, and by what; a body never changes, so neither does this."""

    def keep_fields(self, readers: object, values: dict[str, str]) -> None:
        object.__setattr__(self, "fields", (readers, values))


class Change(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Event:
    change: Change
    record: Record
    """As it is now; for DELETED the last state, carrying the revision of the deletion."""
    previous: Record | None


class StoreError(Exception):
    """What a store may answer instead of doing as asked."""


class StaleError(StoreError):
    """The record is no longer the one the writer looked at."""


class CompactedError(StoreError):
    """History at that revision is gone; the reader must list again."""


class FutureRevisionError(StoreError):
    """A revision that has not happened yet was asked for."""


class DamagedError(StoreError):
    """What is stored under this key is not what was written; the message names the object."""


class FullError(StoreError):
    """The disk took no more; nothing was changed. Reads and watches go on."""


class Subscription(Protocol):
    """Events of one resource from a revision on, in order, without gap or duplicate."""

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]: ...

    """Yields batches. Raises CompactedError when the reader fell too far behind."""

    @property
    def revision(self) -> int:
        """Everything up to here has been yielded; what a bookmark may promise."""

    def close(self) -> None: ...


class Store(Protocol):
    @property
    def revision(self) -> int:
        """Newest durable revision."""

    @property
    def compacted(self) -> int:
        """Oldest revision a watch may start from."""

    @property
    def damaged(self) -> Sequence[Key]:
        """Objects whose stored bodies were found damaged: not listed, and `get` and `write` raise DamagedError."""

    def get(self, key: Key) -> Record | None: ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Record]:
        """Sorted by namespace, then name; `namespace` empty means all."""

    def list_at(self, resource: str, revision: int, namespace: str = "") -> Sequence[Record]:
        """The same as of an earlier revision; CompactedError when that is gone."""

    async def write(self, key: Key, seen: Record | None, encode: Callable[[int], bytes]) -> Record:
        """Create (`seen` is None) or replace exactly the record that was seen, else StaleError.

        `encode` is called once with the new revision, synchronously, and returns the body. Returns when durable.
        """

    async def delete(self, key: Key, seen: Record, encode: Callable[[int], bytes]) -> Record:
        """Remove exactly the record that was seen. `encode` gives the last state, as watchers will see it."""

    def watch(self, resource: str, since: int) -> Subscription:
        """Changes after `since`. CompactedError or FutureRevisionError at once when that cannot be had."""

    async def close(self) -> None: ...
