# SPDX-License-Identifier: Apache-2.0
"""GET with `watch`: streams changes.

An event is encoded once and shared by all watchers with the same form. A selector translates a change for its watcher:
an object that no longer matches is DELETED, one that begins to match is ADDED.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any

from springtide.local import status
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import tables
from springtide.local.apiserver.encoding.objects import decode, encode, shown_parts
from springtide.local.apiserver.encoding.pieces import Part, in_pieces
from springtide.local.apiserver.replies import PARTIAL, PARTIAL_LIST, Answer, Stream
from springtide.local.apiserver.verbs.options import ListOptions, list_options, revision_of
from springtide.local.apiserver.verbs.read import too_new
from springtide.local.apiserver.verbs.selecting import Predicate, predicate
from springtide.local.apiserver.worker_thread import beside
from springtide.local.kinds.label_selectors import LIGHT_SELECTOR
from springtide.local.store.backend import Change, CompactedError, Event, FutureRevisionError, Record, Subscription

BOOKMARK_EVERY = 60.0
SHORTEST = 1800.0  # kube-apiserver ends a watch after a random time between 30 and 60 minutes
LONG_SELECTORS = 1 << 20
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Show = Callable[[Record], Sequence[Part]]


async def watch(ctx: Context, call: Call) -> Answer:
    options = list_options(call.request.query, watch=True)
    labels, fields = options.label_selector, options.field_selector
    wanted = await beside(
        len(labels) + len(fields) > LIGHT_SELECTOR, lambda: predicate(call.resource, labels, fields, call.target.name)
    )
    since = revision_of(options.version)
    if call.form.kind == "Table":
        tables.include_object(call.request.query.get("includeObject"))  # a running stream cannot return 400
    try:
        initial, subscription = _begin(ctx, call, options, since)
    except CompactedError:
        error = status.expired(f"too old resource version: {since} ({ctx.store.compacted})")
        return Stream(_single(_line(b"ERROR", encode(error.as_object()))))
    except FutureRevisionError:
        # kube-apiserver keeps such a watch open until that revision is reached or the timeout expires.
        return Stream(_single(_line(b"ERROR", encode(too_new(since, ctx.store.revision).as_object()))))
    watcher = _Watcher(ctx, call, options, wanted)
    try:
        _count_selector(ctx, watcher, len(labels) + len(fields))
    except status.StatusError:
        subscription.close()
        raise
    return Stream(watcher.lines(initial, subscription))


def _count_selector(ctx: Context, watcher: _Watcher, length: int) -> None:
    """Limit the selectors of all watches: each takes some forty times its length in memory, for up to an hour."""
    if length <= LIGHT_SELECTOR:
        return
    if sum(ctx.long_selectors.values()) + length > LONG_SELECTORS:
        raise status.too_many_requests(
            f"all watches with selectors of more than {LIGHT_SELECTOR} characters may have {LONG_SELECTORS} together; "
            "use a shorter selector, or try again later",
            5,
        )
    ctx.long_selectors[watcher] = length


def _begin(ctx: Context, call: Call, options: ListOptions, since: int) -> tuple[Iterable[Record], Subscription]:
    """The initial records and the subscription that follows without a gap."""
    storage = call.resource.storage
    namespace = call.target.namespace if call.resource.namespaced else ""
    if since > ctx.store.revision:
        raise FutureRevisionError
    replays = options.initial_events if options.initial_events is not None else since == 0
    if not replays and since:
        return (), ctx.store.watch(storage, since)
    initial = ctx.store.list(storage, namespace) if replays else ()
    return initial, ctx.store.watch(storage, ctx.store.revision)


async def _single(line: bytes) -> AsyncIterator[bytes]:
    yield line


def _line(change: bytes, obj: bytes) -> bytes:
    return b"".join(_line_parts(change, (obj,)))


def _line_parts(change: bytes, obj: Sequence[Part]) -> tuple[Part, ...]:
    return b'{"type":"' + change + b'","object":', *obj, b"}\n"


class _Watcher:
    def __init__(self, ctx: Context, call: Call, options: ListOptions, wanted: Predicate | None) -> None:
        self._ctx, self._call, self._options, self._wanted = ctx, call, options, wanted
        self._namespace = call.target.namespace if call.resource.namespaced else ""
        self._first_table = True
        self._show = self._shower()

    def _shower(self) -> Show:
        form, resource = self._call.form, self._call.resource
        if form.kind in (PARTIAL, PARTIAL_LIST):
            return lambda record: (tables.partial(record, form.version),)
        if form.kind == "Table":
            return self._table
        return lambda record: shown_parts(record, resource)

    def _table(self, record: Record) -> Sequence[Part]:
        policy = tables.include_object(self._call.request.query.get("includeObject"))
        columns, self._first_table = self._first_table, False
        metadata = {"resourceVersion": tables.version_of(record)}
        return tuple(
            tables.parts([record], self._call.resource, self._ctx.now(), policy, metadata=metadata, columns=columns)
        )

    async def lines(self, initial: Iterable[Record], subscription: Subscription) -> AsyncIterator[Part]:
        try:
            async for piece in in_pieces(self._initial_lines(initial)):
                yield piece
            if self._options.initial_events and self._options.bookmarks:
                yield self._bookmark(subscription.revision, {INITIAL_EVENTS_END: "true"})
            yield b""  # makes the edge send the headers before the first event
            async for piece in self._live_lines(subscription):
                yield piece
        finally:
            subscription.close()

    def _initial_lines(self, initial: Iterable[Record]) -> Iterator[Part]:
        for record in initial:
            if self._wanted is None or self._wanted(record):
                yield from _line_parts(b"ADDED", self._show(record))
            else:
                yield b""  # checking the record took time, too

    async def _live_lines(self, subscription: Subscription) -> AsyncIterator[Part]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + (self._options.timeout or random.uniform(SHORTEST, 2 * SHORTEST))
        batches = aiter(subscription)
        try:
            while (left := ends - loop.time()) > 0:
                try:
                    # Not `asyncio.wait`, which needs a task for every batch and watcher.
                    async with asyncio.timeout(min(left, BOOKMARK_EVERY)):
                        batch = await anext(batches, None)
                except TimeoutError:
                    if self._options.bookmarks and loop.time() < ends:
                        yield self._bookmark(subscription.revision)
                    continue
                if batch is None:
                    return
                async for piece in in_pieces(self._event_lines(batch)):
                    yield piece
            if self._options.bookmarks:
                yield self._bookmark(subscription.revision)
        except CompactedError:
            error = status.expired("too old resource version: this watch fell behind")
            yield _line(b"ERROR", encode(error.as_object()))

    def _event_lines(self, batch: Iterable[Event]) -> Iterator[Part]:
        for event in batch:
            if self._namespace and event.record.key.namespace != self._namespace:
                continue
            change = event.change if self._wanted is None else _meaning(event, self._wanted)
            if change is not None:
                yield from _line_parts(change.value.encode(), self._show(_shown_for(event, change)))
            else:
                yield b""

    def _bookmark(self, revision: int, annotations: dict[str, str] | None = None) -> bytes:
        resource = self._call.resource
        metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        kind, api_version = resource.kind, resource.api_version
        if self._call.form.kind:
            kind, api_version = self._call.form.kind.removesuffix("List"), f"meta.k8s.io/{self._call.form.version}"
        frame: dict[str, Any] = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
        if kind == "Table":
            frame |= {"columnDefinitions": None, "rows": []}
        return _line(b"BOOKMARK", encode(frame))


def _shown_for(event: Event, change: Change) -> Record:
    """The record to show. An object that no longer matches is shown in its last matching state, with the revision of
    the change that removed it from the selection.
    """
    if change is not Change.DELETED or event.change is Change.DELETED or event.previous is None:
        return event.record
    obj = decode(event.previous.body)
    obj["metadata"]["resourceVersion"] = tables.version_of(event.record)
    return Record(event.record.key, event.record.revision, encode(obj))


def _meaning(event: Event, wanted: Predicate) -> Change | None:
    """The change as seen by a watcher that selects some objects."""
    before = event.previous is not None and wanted(event.previous)
    if event.change is Change.DELETED:
        return Change.DELETED if before else None
    now = wanted(event.record)
    if now:
        return Change.MODIFIED if before else Change.ADDED
    return Change.DELETED if before else None
