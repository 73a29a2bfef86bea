# SPDX-License-Identifier: Apache-2.0
"""Interface between the API server and its object store.

Reads are served from memory; a write is acknowledged and becomes visible only when it is durable. Bodies are encoded
JSON objects *without* `kind` and `apiVersion` (the encoder of the response adds them, so all served versions of a
resource share one body) and never change: a new revision is a new record.
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
    """Values read from the body for field selectors, and the readers used; valid because a body never changes."""

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
    """The new state; for DELETED the last state, with the revision of the deletion."""
    previous: Record | None


class StoreError(Exception):
    """Base class of the errors that a store raises."""


class StaleError(StoreError):
    """The record has changed since the writer read it."""


class CompactedError(StoreError):
    """History at that revision has been compacted; the reader must list again."""


class FutureRevisionError(StoreError):
    """The requested revision is higher than the newest one."""


class DamagedError(StoreError):
    """The stored record is damaged; the message names the object."""


class FullError(StoreError):
    """The disk is full and nothing was changed. Reads and watches continue."""


class Subscription(Protocol):
    """Events of one resource from a revision on, in order, without gap or duplicate."""

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]: ...

    """Yields batches. Raises CompactedError when the reader fell too far behind."""

    @property
    def revision(self) -> int:
        """All events up to this revision have been yielded; the revision for a bookmark."""

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
        """Objects with damaged bodies: lists omit them; `get` and `write` raise DamagedError."""

    def get(self, key: Key) -> Record | None: ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Record]:
        """Sorted by namespace, then name; `namespace` empty means all."""

    def list_at(self, resource: str, revision: int, namespace: str = "") -> Sequence[Record]:
        """The list as of an earlier revision; raises CompactedError when history does not reach back to it."""

    async def write(self, key: Key, seen: Record | None, encode: Callable[[int], bytes]) -> Record:
        """Create (`seen` is None) or replace the record, provided that it is still `seen`; otherwise raise StaleError.

        `encode` is called once with the new revision, synchronously, and returns the body. Returns when durable.
        """

    async def delete(self, key: Key, seen: Record, encode: Callable[[int], bytes]) -> Record:
        """Delete the record, provided that it is still `seen`. `encode` returns the last state, sent to watchers."""

    def watch(self, resource: str, since: int) -> Subscription:
        """Changes after `since`. Raises CompactedError or FutureRevisionError at once if history does not cover it."""

    async def close(self) -> None: ...
