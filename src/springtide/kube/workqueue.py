# SPDX-License-Identifier: Apache-2.0
"""The work queue between informers and workers, in three layers: de-duplication, delay, rate limit.

Guarantees, each with a test of its own:

- a key that is added many times before a worker takes it is taken once;
- a key is never with two workers at the same time;
- a key added while a worker has it is queued again after that worker is done: no change is lost;
- keys are taken in the order in which they were first added;
- `get` yields to the event loop before every key: workers whose reconciles never await cannot stop the process;
- of several delays for one key the earliest wins, and a delay never holds back a plain `add`;
- a key is taken at most `Pace.burst` times in a row and `Pace.rate` times a second after that, however often it is
  added: keys that enqueue themselves or each other endlessly use neither a whole CPU nor the turns of other keys;
- retries of one key wait base, 2 x base, 4 x base ... up to a limit, independently of other keys, until `forget`;
- after `shut_down` no key is accepted, queued keys are still handed out (or dropped, `drain=False`), then `get` raises
  ShutDown; delayed keys are dropped.

Uses the clock of one event loop; there are no locks because nothing awaits in between.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ShutDown(Exception):
    """The queue is closed and empty."""


class Queue(Generic[K]):
    """First layer: de-duplication."""

    def __init__(self) -> None:
        self._order: deque[K] = deque()
        self._dirty: set[K] = set()
        """Keys that need a worker: those in `_order`, and those added again while a worker has them."""
        self._taken: set[K] = set()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """The number of keys that wait for a worker."""
        return len(self._order)

    @property
    def closed(self) -> bool:
        return self._closed

    def add(self, key: K) -> None:
        if self._closed or key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._taken:
            self._line_up(key)

    async def get(self) -> K:
        """The next key, which belongs to the caller until `done`."""
        if self._order:
            # Without this, a worker whose reconcile awaits nothing and adds its own key again would never yield.
            await asyncio.sleep(0)
        while not self._order:
            if self._closed:
                raise ShutDown
            await self._wait()
        key = self._order.popleft()
        self._dirty.discard(key)
        self._taken.add(key)
        return key

    def done(self, key: K) -> None:
        """Return a key; if it was added meanwhile it is queued again."""
        self._taken.discard(key)
        if key in self._dirty:
            self._line_up(key)

    def shut_down(self, *, drain: bool = True) -> None:
        """Accept no more keys. Without `drain`, drop queued keys as well: the next process observes them again."""
        self._closed = True
        if not drain:
            self._order.clear()
            self._dirty.clear()
        while self._waiters:
            self._wake_one()

    def _line_up(self, key: K) -> None:
        """Queue a dirty key that no worker has."""
        self._order.append(key)
        self._wake_one()

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake_one()  # this worker was chosen but is cancelled: wake another one
            else:
                self._waiters.remove(waiter)
            raise

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


class DelayingQueue(Queue[K]):
    """Second layer: keys that are due later."""

    def __init__(self) -> None:
        super().__init__()
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = 0
        """Breaks ties in the heap, so that keys are never compared."""
        self._timer: asyncio.TimerHandle | None = None

    def add_after(self, key: K, delay: float) -> None:
        if delay <= 0:
            self.add(key)
            return
        self._add_at(key, asyncio.get_running_loop().time() + delay)

    def _add_at(self, key: K, due: float) -> None:
        if self._closed or due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, key))
        self._set_timer()

    @property
    def delayed(self) -> int:
        """The number of keys that are not due yet."""
        return len(self._due)

    def shut_down(self, *, drain: bool = True) -> None:
        super().shut_down(drain=drain)
        self._due.clear()
        self._heap.clear()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._timer = asyncio.get_running_loop().call_at(self._heap[0][0], self._release)

    def _release(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            # An entry whose key got an earlier time after it was pushed is obsolete.
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        self._set_timer()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before the n-th retry: base, doubled every time, never more than limit."""

    base: float = 0.005
    limit: float = 60.0

    def delay(self, failures: int) -> float:
        # The exponent is bounded because 2.0 ** 1100 overflows, and a key may fail that often.
        return min(self.limit, self.base * 2.0 ** min(failures, 64))


@dataclass(frozen=True, slots=True)
class Pace:
    """The rate limit of one key: `burst` times at once, `rate` times a second in the long run."""

    burst: int = 100
    rate: float = 10.0


PURGE = 1024
"""The number of remembered keys above which those with a full burst are dropped."""


class WorkQueue(DelayingQueue[K]):
    """Third layer: retries with growing delays, and a rate limit per key."""

    def __init__(self, backoff: Backoff = Backoff(), pace: Pace = Pace()) -> None:  # noqa: B008 - frozen
        super().__init__()
        self._backoff = backoff
        self._failures: dict[K, int] = {}
        self._interval = 1.0 / pace.rate
        self._slack = (pace.burst - 1) * self._interval
        self._rested: dict[K, float] = {}
        """When a key has its whole burst again. Each hand-out moves that by one interval."""
        self._purge_at = PURGE

    def retry(self, key: K) -> float:
        """Add the key after its back-off delay, which is returned for the log."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = self._backoff.delay(failures)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The key was reconciled successfully: its next retry starts from the base delay."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    def _line_up(self, key: K) -> None:
        now = asyncio.get_running_loop().time()
        rested = max(now, self._rested.get(key, now))
        if rested - self._slack > now:
            # Not lost: the key is delayed, and not dirty meanwhile, so that it can be added when it is due.
            self._dirty.discard(key)
            self._add_at(key, rested - self._slack)
            return
        self._rested[key] = rested + self._interval
        if len(self._rested) > self._purge_at:
            self._rested = {each: when for each, when in self._rested.items() if when > now}
            self._purge_at = max(PURGE, 2 * len(self._rested))
        super()._line_up(key)
