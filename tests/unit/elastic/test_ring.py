# SPDX-License-Identifier: Apache-2.0
"""Collectives over a ring of real sockets, one thread per rank."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest

from springtide.elastic.groups import BrokenError
from springtide.elastic.ring import Ring

R = TypeVar("R")
sizes = pytest.mark.parametrize("size", [2, 3, 5])


def rings(size: int) -> list[Ring]:
    pairs = [socket.socketpair() for _ in range(size)]
    return [Ring(pairs[rank - 1][1], pairs[rank][0], rank, size) for rank in range(size)]


def together(size: int, what: Callable[[Ring], R]) -> list[R]:
    members = rings(size)
    with ThreadPoolExecutor(size) as pool:
        found = list(pool.map(what, members))
    for each in members:
        each.close()
    return found


@sizes
@pytest.mark.parametrize("length", [0, 1, 2, 7, 1000, 700_001])
@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_sums_are_the_same_everywhere(size: int, length: int, kind: str) -> None:
    def work(ring: Ring) -> Any:
        mine = (np.arange(length) % 97 * (ring.rank + 1)).astype(kind)
        ring.allreduce(mine)
        return mine

    wanted = (np.arange(length) % 97 * sum(range(1, size + 1))).astype(kind)
    for found in together(size, work):
        np.testing.assert_array_equal(found, wanted)


@sizes
def test_everybody_hears_what_everybody_said(size: int) -> None:
    words = [b"x" * (rank * 1000) for rank in range(size)]
    assert together(size, lambda ring: list(ring.allgather(words[ring.rank]))) == [words] * size


@sizes
@pytest.mark.parametrize("length", [0, 1, 5_000_001])
def test_the_roots_bytes_are_everybodys(size: int, length: int) -> None:
    for root in range(size):

        def work(ring: Ring, root: int = root) -> bytes:
            data = bytearray(b"r" * length if ring.rank == root else b"?" * length)
            ring.broadcast(memoryview(data), root)
            return bytes(data)

        assert set(together(size, work)) == {b"r" * length}


def test_state_goes_only_to_those_after_its_source() -> None:
    def work(ring: Ring) -> bytes:
        data = bytearray(b"s" if ring.rank == 1 else b"?")
        ring.pass_on(memoryview(data), 1, everybody=False)
        return bytes(data)

    assert together(4, work) == [b"?", b"s", b"s", b"s"]


def test_a_neighbour_that_hangs_up_breaks_the_group() -> None:
    first, second = rings(2)
    second.close()
    with pytest.raises(BrokenError):
        first.allreduce(np.zeros(100_000))
    first.close()


def test_a_call_under_way_can_be_ended_from_another_thread() -> None:
    first, second = rings(2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(first.allreduce, np.zeros(10))
        first.abort()
        with pytest.raises(BrokenError):
            waiting.result()
    first.close()
    second.close()
