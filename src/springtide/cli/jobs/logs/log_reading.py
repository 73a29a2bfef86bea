# SPDX-License-Identifier: Apache-2.0
"""Reading the log of one container: from the API into the merged log, selected, and resumed where it was lost."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final

from springtide.kube import errors, logs
from springtide.kube.client import Client
from springtide.kube.logs import LogOptions
from springtide.kube.request import Request
from springtide.kube.resources import Key
from springtide.views.logs.log_lines import Line, Resume, Selection, Splitter
from springtide.views.logs.log_merge import Merge
from springtide.views.logs.log_sources import LogSource, Wanted

SILENCE: Final = 60.0
"""Seconds without a byte after which a log that is not followed counts as unreadable: its node may be gone."""
_LAST_BYTES: Final = 4 << 20
"""Bytes of the last lines of a log, where these are counted after a selection."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which lines of which logs to show."""

    wanted: Wanted = field(default_factory=Wanted)
    follow: bool = False
    previous: bool = False
    tail: int | None = None
    """Lines of each pod, counted among those that are selected."""
    since_seconds: int | None = None
    since_time: str = ""
    pattern: re.Pattern[bytes] | None = None

    def options(self, container: str) -> LogOptions:
        return LogOptions(
            container=container,
            follow=self.follow,
            previous=self.previous,
            timestamps=True,
            tail=self.tail,
            since_seconds=self.since_seconds,
            since_time=self.since_time,
        )


class Pace:
    """Signals between the readers and the writer of a merged log."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        """There is something new to write."""
        self._room = asyncio.Event()

    def written(self) -> None:
        self._room.set()

    async def room(self, is_full: Callable[[], bool]) -> None:
        while is_full():
            self._room.clear()
            await self._room.wait()


class Reading:
    """The log of one attempt of a container, while it is read."""

    def __init__(self, client: Client, namespace: str, source: LogSource, merge: Merge, pace: Pace) -> None:
        self.source = source
        self.lines = 0
        """Lines that were read, shown or not."""
        self.problem: errors.ApiError | None = None
        self._client, self._namespace, self._merge, self._pace = client, namespace, merge, pace
        self._resume = Resume()
        self._selection = Selection()
        self._task: asyncio.Task[None] | None = None

    @property
    def task(self) -> asyncio.Task[None] | None:
        return self._task

    def is_to_be_continued(self, now: LogSource) -> bool:
        """Whether a followed log has ended before its container, as far as is known."""
        if self._task is None or not self._task.done() or self.source.kept:
            return False
        return self.problem is not None or self.source.running or now.running

    def start(self, options: LogOptions, selection: Selection, *, selective: bool) -> None:
        """`selective`: the last lines are those of the selected ones."""
        self._selection = selection
        self._begin(self._read_last(options) if selective and options.tail is not None else self._stream(options))

    def go_on(self, source: LogSource) -> None:
        """Read on where the stream ended."""
        self.source = source
        self._begin(self._stream(self._rest(source.container)))

    def _rest(self, container: str) -> LogOptions:
        self._resume.begin()
        return LogOptions(container, follow=True, timestamps=True, since_time=self._resume.since_time)

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self.problem = None
        self._merge.open(self.source.key, time.monotonic())
        self._task = asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except errors.ApiError as problem:
            self.problem = problem
        finally:
            self._merge.close(self.source.key)
            self._pace.arrived.set()

    async def _stream(self, options: LogOptions) -> None:
        splitter, key = Splitter(), self.source.key
        async for chunk in self._chunks(options):
            await self._pace.room(lambda: self._merge.is_full(key))
            self._hand_over(self._selected(splitter.feed(chunk)))
        self._hand_over(self._selected(splitter.end()))

    async def _read_last(self, options: LogOptions) -> None:
        """The last of the selected lines, then the rest if the log is followed."""
        last, splitter = _Last(options.tail or 0), Splitter()
        once = replace(options, follow=False, tail=None)
        async for chunk in self._chunks(once):
            last.add(self._selected(splitter.feed(chunk)))
        if not options.follow:  # otherwise an unfinished line is read again
            last.add(self._selected(splitter.end()))
        self._hand_over(list(last.lines))
        if options.follow:
            await self._stream(self._rest(options.container))

    async def _chunks(self, options: LogOptions) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._client.chunks(self._request(options))) as chunks:
            while True:
                try:
                    async with asyncio.timeout(None if options.follow else SILENCE):
                        chunk = await anext(chunks, None)
                except TimeoutError:
                    raise errors.Unreachable(f"nothing was received for {SILENCE:g} s") from None
                if chunk is None:
                    return
                yield chunk

    def _selected(self, lines: list[Line]) -> list[Line]:
        self.lines += len(lines)
        return [line for line in lines if self._resume.is_new(line) and self._selection.wants(line)]

    def _hand_over(self, lines: list[Line]) -> None:
        if lines:
            self._merge.add(self.source.key, lines, time.monotonic())
            self._pace.arrived.set()

    def _request(self, options: LogOptions) -> Request:
        if self.source.kept:
            return logs.kept_log(Key(self._namespace, self.source.kept), options)
        return logs.log(Key(self._namespace, self.source.pod), options)


class _Last:
    """The last lines that were added: a number of them, and of bytes."""

    def __init__(self, most: int) -> None:
        self.lines: deque[Line] = deque()
        self._most, self._size = most, 0

    def add(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.lines.append(line)
            self._size += len(line.text)
            while len(self.lines) > self._most or (self._size > _LAST_BYTES and len(self.lines) > 1):
                self._size -= len(self.lines.popleft().text)
