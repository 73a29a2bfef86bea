# SPDX-License-Identifier: Apache-2.0
"""The collectives of one generation: the interface between the library and its transports.

A group belongs to one generation. When a rank dies the group is broken for all members: every call raises BrokenError,
also one that is under way, and a new group replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

Buffer: TypeAlias = memoryview


class BrokenError(Exception):
    """A rank of the group is gone, or the group is about to be replaced."""


class Group(Protocol):
    """Buffers are flat, contiguous NumPy arrays, changed in place."""

    rank: int
    size: int

    def allreduce(self, flat: Any, given: Any = None, divisor: float | None = None) -> None:
        """The sum over all ranks, in `flat`; of `given` if there is one, and divided by `divisor` if there is one."""

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        """The values of all ranks, in rank order."""

    def broadcast(self, data: Buffer, root: int) -> None:
        """Copies the root's buffer to all ranks."""

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        """Sends data from the source to the ranks after it, or around the ring to all."""

    def abort(self) -> None:
        """Makes calls under way raise. May be called from any thread."""

    def close(self) -> None: ...


class Solo:
    """A group of one rank, whose collectives are no-ops."""

    rank, size = 0, 1

    def allreduce(self, flat: Any, given: Any = None, divisor: float | None = None) -> None:
        if given is not None:
            flat[:] = given
        if divisor is not None:
            flat /= divisor

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        return [mine]

    def broadcast(self, data: Buffer, root: int) -> None:
        pass

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        pass

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass
