# SPDX-License-Identifier: Apache-2.0
"""Log lines of several sources, merged by time. Pure: the clock is a parameter.

At most `AHEAD` bytes, and of each source `LEAST` and one chunk, wait for the lines of other sources.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from springtide.views.logs.log_lines import Line

AHEAD: Final = 32 << 20
"""Bytes of lines that wait, shared equally by all sources; a source with more is not read."""
LEAST: Final = 64 << 10
"""Bytes of a source that may wait however many sources there are."""
CONNECTING: Final = 2.0
"""Seconds to wait for the first line of a source that was opened just now."""
QUIET: Final = 0.25
"""Seconds without a line after which a followed source counts as quiet: the others need not wait for it."""
_OF_A_LINE: Final = 200
"""Bytes that a line takes besides its text."""


@dataclass(slots=True)
class _Source:
    opened: float
    last: float = 0.0
    """When its last line arrived."""
    lines: deque[Line] = field(default_factory=deque)
    size: int = 0
    ended: bool = False


class Merge:
    """Lines of several sources, each in the order of time, in the order of time.

    The next line is known when every source has a line, has ended or, if followed, has been quiet for a while.
    """

    def __init__(self, *, follow: bool) -> None:
        self._follow = follow
        self._sources: dict[str, _Source] = {}

    def open(self, source: str, now: float) -> None:
        """A source may be opened again, after it was closed."""
        known = self._sources.setdefault(source, _Source(now))
        known.ended, known.opened, known.last = False, now, 0.0

    def add(self, source: str, lines: Sequence[Line], now: float) -> None:
        found = self._sources[source]
        found.lines.extend(lines)
        found.size += sum(len(line.text) + _OF_A_LINE for line in lines)
        found.last = now

    def close(self, source: str) -> None:
        self._sources[source].ended = True

    def is_full(self, source: str) -> bool:
        """Whether no more of it is to be read for now."""
        found = self._sources.get(source)
        return found is not None and found.size >= max(AHEAD // len(self._sources), LEAST)

    @property
    def done(self) -> bool:
        return all(source.ended and not source.lines for source in self._sources.values())

    def ready(self, now: float) -> Iterator[tuple[str, Line]]:
        """The lines whose turn it is."""
        heads = [(source.lines[0].stamp, name) for name, source in self._sources.items() if source.lines]
        heapq.heapify(heads)
        awaited = sum(1 for source in self._sources.values() if not source.lines and self._awaits(source, now))
        while heads and not awaited:
            _, name = heapq.heappop(heads)
            source = self._sources[name]
            # The parts of a broken line stay together as far as they are here.
            while True:
                line = source.lines.popleft()
                source.size -= len(line.text) + _OF_A_LINE
                yield name, line
                if line.whole or not source.lines:
                    break
            if source.lines:
                heapq.heappush(heads, (source.lines[0].stamp, name))
            elif self._awaits(source, now):
                awaited += 1
        for name in [name for name, source in self._sources.items() if source.ended and not source.lines]:
            del self._sources[name]

    def _awaits(self, source: _Source, now: float) -> bool:
        """Whether an empty source may still have the next line."""
        if source.ended:
            return False
        if not self._follow:
            return True
        return now < (source.last + QUIET if source.last else source.opened + CONNECTING)

    def wait(self, now: float) -> float | None:
        """Seconds after which `ready` may have more although nothing arrived; None if never."""
        if not self._follow or not any(source.lines for source in self._sources.values()):
            return None
        ends = [
            source.last + QUIET if source.last else source.opened + CONNECTING
            for source in self._sources.values()
            if not source.lines and not source.ended
        ]
        return max(min(ends, default=now) - now, 0.0)
