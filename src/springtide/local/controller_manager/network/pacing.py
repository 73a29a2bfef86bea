# SPDX-License-Identifier: Apache-2.0
"""The delay for batching changes, proportional to the duration of the work.

A thousand pods starting together would otherwise cause hundreds of writes of a thousand addresses each, or as many
counts of a whole namespace. Small work stays prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from springtide.kube.resources import Key

SHORTEST, LONGEST = 0.05, 2.0
_REST = 10.0
"""The delay as a multiple of the duration: one key takes at most about this fraction of the time."""


class Pace:
    def __init__(self) -> None:
        self._delays: dict[Key, float] = {}

    def delay(self, key: Key) -> float:
        """Seconds to wait after a change."""
        return self._delays.get(key, SHORTEST)

    def forget(self, key: Key) -> None:
        self._delays.pop(key, None)

    @contextmanager
    def measured(self, key: Key) -> Iterator[None]:
        """Measures the work on a key."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            yield
        finally:
            delay = _REST * (loop.time() - started)
            if delay > SHORTEST:
                self._delays[key] = min(delay, LONGEST)
            else:
                self.forget(key)
