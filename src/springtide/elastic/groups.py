# SPDX-License-Identifier: Apache-2.0
"""What ranks of one generation do together, whoever carries the bytes: the seam between the library and its transports.

A group belongs to one generation. When a rank dies the group is broken for all: every call raises BrokenError, also one
that is under way, and another group takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

Buffer: TypeAlias = memoryview


class BrokenError(Exception):
    """A rank of the group is gone, or the group is about to be another one."""


class Group(Protocol):
    """Buffers are flat, contiguous NumPy arrays, changed in place."""

    rank: int
    size: int

    def allreduce(self, flat: Any, given: Any = None, divisor: float | None = None) -> None:
        """The sum over all ranks, in place, or of what is given instead; divided, where it is to be a mean."""

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        """What each rank gave, in the order of ranks."""

    def broadcast(self, data: Buffer, root: int) -> None:
        """Fills the buffers of all with the root's."""

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        """From the source to the ranks after it, or round to everybody."""

    def abort(self) -> None:
        """From any thread: make calls under way raise."""

    def close(self) -> None: ...


class Solo:
    """A group of one: nothing to do, nobody to wait for."""

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
