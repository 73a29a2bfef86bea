# SPDX-License-Identifier: Apache-2.0
"""Records the events that users see in `kubectl describe`, without flooding the API server.

    recorder = EventRecorder(client, "job-controller")
    recorder.normal(job, "Resized", "grew from 2 to 4 workers")     # returns at once
    await recorder.run()                                            # in a task of its own: sends them

As in client-go: a repeated event only raises the count of the first one; after ten events that differ only in their
message, within ten minutes, further ones are "(combined from similar events)"; and one component may record 25 events
about an object at once and one more every five minutes. Events are not state: if the queue is full or the server
rejects one, it is dropped. Controllers never read them.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import EVENTS, Key, Obj

V = TypeVar("V")
logger = logging.getLogger(__name__)

REMEMBERED = 4096
SIMILAR_EVENTS = 10
SIMILAR_WINDOW = 600.0
BURST = 25
REFILL = 1 / 300
QUEUED = 1000
TRIES = 12
RETRY = 10.0

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class _Recent(Generic[V]):
    """The values of the most recently used keys, created when missing; older ones are dropped."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def __getitem__(self, key: Hashable) -> V:
        value = self._values.pop(key, None)
        if value is None:
            value = self._make()
            if len(self._values) >= REMEMBERED:
                self._values.popitem(last=False)
        self._values[key] = value
        return value


@dataclass(slots=True)
class _Similar:
    """Events that differ only in their message."""

    messages: set[str] = field(default_factory=set)
    last: float = float("-inf")


@dataclass(slots=True)
class _Written:
    """An event as stored on the server."""

    count: int = 0
    name: str = ""
    first: str = ""


@dataclass(slots=True)
class _Bucket:
    """The rate limit of one component's events about one object."""

    tokens: float = BURST
    last: float | None = None

    def take(self, now: float) -> bool:
        if self.last is not None:
            self.tokens = min(BURST, self.tokens + (now - self.last) * REFILL)
        self.last = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Correlator:
    """Decides whether an event is written, counted onto an earlier one, combined or dropped. Pure."""

    def __init__(self) -> None:
        self._similar = _Recent(_Similar)
        self._written = _Recent(_Written)
        self._buckets = _Recent(_Bucket)

    def correlate(self, event: Obj, now: float) -> Obj | None:
        """The event to write (a count above 1 means: patch the existing one of that name), or None to drop it."""
        source = _source_of(event)
        group = (*source, event["reason"])
        key: Hashable = (*group, event["involvedObject"].get("fieldPath", ""), event["message"])
        similar = self._similar[group]
        if now - similar.last > SIMILAR_WINDOW:
            similar.messages.clear()
        similar.messages.add(event["message"])
        similar.last = now
        if len(similar.messages) >= SIMILAR_EVENTS:
            similar.messages.pop()
            event = event | {"message": f"(combined from similar events): {event['message']}"}
            key = group
        event = self._count(event, self._written[key])
        return event if self._buckets[source].take(now) else None

    def _count(self, event: Obj, written: _Written) -> Obj:
        if written.count:
            metadata = event["metadata"] | {"name": written.name}
            event = event | {"metadata": metadata, "firstTimestamp": written.first, "count": written.count + 1}
        written.count, written.name, written.first = event["count"], event["metadata"]["name"], event["firstTimestamp"]
        return event


def _source_of(event: Obj) -> tuple[str, ...]:
    about, source = event["involvedObject"], event["source"]
    object_parts = ("kind", "namespace", "name", "uid", "apiVersion")
    return (
        source["component"],
        source.get("host", ""),
        *(about.get(part, "") for part in object_parts),
        event["type"],
    )


def reference_to(obj: Mapping[str, Any]) -> dict[str, str]:
    """An ObjectReference to a whole object; a reference is returned unchanged."""
    if "metadata" not in obj:
        return dict(obj)
    metadata = obj["metadata"]
    parts = {name: metadata.get(name, "") for name in ("namespace", "name", "uid", "resourceVersion")}
    parts |= {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return {name: value for name, value in parts.items() if value}


class EventRecorder:
    def __init__(self, client: Client, component: str, host: str = "", clock: Callable[[], int] = time.time_ns) -> None:
        self._client = client
        self._source = {"component": component} | ({"host": host} if host else {})
        self._clock = clock
        self._correlator = Correlator()
        self._queue: asyncio.Queue[Obj] = asyncio.Queue(QUEUED)

    def normal(self, about: Mapping[str, Any], reason: str, message: str) -> None:
        self.record(about, "Normal", reason, message)

    def warning(self, about: Mapping[str, Any], reason: str, message: str) -> None:
        self.record(about, "Warning", reason, message)

    def record(self, about: Mapping[str, Any], kind: str, reason: str, message: str) -> None:
        """Queue an event about an object (with apiVersion and kind) or an ObjectReference. Never blocks or fails."""
        now = self._clock()
        event = self._correlator.correlate(self._event(reference_to(about), kind, reason, message, now), now / 1e9)
        if event is None:
            return
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            logger.warning("Dropping an event, too many are waiting: %s %s", reason, message)

    async def run(self) -> None:
        """Send queued events until cancelled."""
        while True:
            event = await self._queue.get()
            try:
                await self._send(event)
            finally:
                self._queue.task_done()

    async def flush(self) -> None:
        """Wait until all queued events have been sent or given up; for tests and an orderly exit."""
        await self._queue.join()

    def _event(self, about: dict[str, str], kind: str, reason: str, message: str, now: int) -> Obj:
        seconds = datetime.fromtimestamp(now // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return EVENTS.describe(Key(about.get("namespace") or "default", _event_name(about["name"], now))) | {
            "involvedObject": about,
            "type": kind,
            "reason": reason,
            "message": message,
            "source": self._source,
            "reportingComponent": self._source["component"],
            "reportingInstance": self._source.get("host", ""),
            "firstTimestamp": seconds,
            "lastTimestamp": seconds,
            "count": 1,
        }

    async def _send(self, event: Obj) -> None:
        for attempt in range(TRIES):
            try:
                await self._write(event)
                return
            except errors.Unreachable as error:
                logger.info("Cannot write an event yet: %s", error)
                # The first wait is random so that clients do not all retry at once when the server is back.
                await asyncio.sleep(RETRY * random.random() if attempt == 0 else RETRY)
            except errors.ApiError as error:
                logger.info("The server refused an event: %s", error)
                return
        logger.warning("Gave up on an event: %s %s", event["reason"], event["message"])

    async def _write(self, event: Obj) -> None:
        if event["count"] > 1:
            news = {name: event[name] for name in ("count", "lastTimestamp", "message")}
            try:
                await self._client.patch(EVENTS, Key.of(event), news)
                return
            except errors.NotFound:
                pass  # the server keeps events for an hour: the first one is gone, so create it again
        await self._client.create(EVENTS, event)


def _event_name(about: str, now: int) -> str:
    """`<object>.<time in hex>`, or a UUID if that is not a valid name (some kinds allow more than DNS names)."""
    name = f"{about}.{now:x}"
    return name if len(name) <= 253 and _SUBDOMAIN.fullmatch(name) else str(uuid.uuid4())
