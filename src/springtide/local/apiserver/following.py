# SPDX-License-Identifier: Apache-2.0
"""Keeps data in memory in sync with stored objects: the RBAC index, the registry of custom resources."""

from __future__ import annotations

from collections.abc import Callable

from springtide.event_loop.slices import in_slices
from springtide.local.store.backend import Change, CompactedError, Record, Store


async def follow(store: Store, resource: str, put: Callable[[Record], None], remove: Callable[[Record], None]) -> None:
    """Runs until cancelled. The initial list is read before the first await; later changes arrive in batches."""
    seen: dict[str, Record] = {}
    while True:
        since = store.revision
        current = {f"{r.key.namespace}/{r.key.name}": r for r in store.list(resource)}
        for gone in [key for key in seen if key not in current]:
            remove(seen.pop(gone))
        for key, record in current.items():
            if key not in seen or seen[key].revision != record.revision:
                seen[key] = record
                put(record)
        subscription = store.watch(resource, since)
        try:
            async for batch in subscription:
                async for event in in_slices(batch):
                    key = f"{event.record.key.namespace}/{event.record.key.name}"
                    if event.change is Change.DELETED:
                        seen.pop(key, None)
                        remove(event.record)
                    else:
                        seen[key] = event.record
                        put(event.record)
            return
        except CompactedError:
            continue  # fell behind: list again
        finally:
            subscription.close()
