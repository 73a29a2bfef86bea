# SPDX-License-Identifier: Apache-2.0
"""Short words for the store tests: keys, bodies, writes, and events as plain tuples to compare."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from springtide.local.store.backend import Event, FullError, Key, Record, Store, Subscription
from springtide.local.store.logged import Group, Log


def a_key(name: str = "a", namespace: str = "default", resource: str = "configmaps") -> Key:
    return Key(resource, namespace, name)


def saying(text: str) -> Callable[[int], bytes]:
    """A body that says `text` and, as the API server's do, its own revision."""
    return lambda revision: f"{text}@{revision}".encode()


async def put(store: Store, key: Key | str, text: str = "x") -> Record:
    key = a_key(key) if isinstance(key, str) else key
    return await store.write(key, store.get(key), saying(text))


async def drop(store: Store, key: Key | str, text: str = "gone") -> Record:
    key = a_key(key) if isinstance(key, str) else key
    seen = store.get(key)
    assert seen is not None
    return await store.delete(key, seen, saying(text))


def names(records: list[Record] | object) -> list[str]:
    assert isinstance(records, list)
    return [record.key.name for record in records]


def brief(event: Event) -> tuple[str, str, int]:
    return event.change.value, event.record.key.name, event.record.revision


async def take(subscription: Subscription, count: int) -> list[Event]:
    """The next events, at least `count` of them."""
    events: list[Event] = []
    if count > 0:
        async for batch in subscription:
            events.extend(batch)
            if len(events) >= count:
                break
    return events


class FlakyLog:
    """A log whose disk can be declared full."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.full = False
        self.groups: list[Group] = []

    def commit(self, group: Group, done: Callable[[BaseException | None], None]) -> None:
        self.groups.append(group)
        if self.full:
            asyncio.get_running_loop().call_soon(done, FullError("no space"))
        else:
            self.log.commit(group, done)

    async def close(self, last: Group) -> None:
        await self.log.close(last)
