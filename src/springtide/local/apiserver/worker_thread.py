# SPDX-License-Identifier: Apache-2.0
"""Decides which requests run on a thread beside the event loop, so that large ones do not delay others.

Short requests stay on the loop: a thread switch costs more than they do. Work is handed over only in parts that access
nothing but the request's own object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from springtide.event_loop.long_work import in_thread

LIGHT_BYTES: Final = 64 * 1024
LIGHT_VALUES: Final = 1500
"""Limit for the event loop: about 50 microseconds per value in the worst kind, 50 milliseconds in all."""

_T = TypeVar("_T")


def is_heavy(body: bytes, stored: bytes = b"") -> bool:
    """Whether work on these JSON texts may block the loop too long. Values are counted by their commas."""
    size = len(body) + len(stored)
    if size <= 2 * LIGHT_VALUES:  # a value and its comma take two bytes
        return False
    return size > LIGHT_BYTES or body.count(b",") + stored.count(b",") > LIGHT_VALUES


async def beside(heavy: bool, work: Callable[[], _T]) -> _T:
    """The result of the work, done on the thread if it is heavy."""
    if not heavy:
        return work()
    return await in_thread(work)
