# SPDX-License-Identifier: Apache-2.0
"""Collectives over a ring of real sockets, one thread per rank."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.unit.elastic.rings import rings, together

from springtide.elastic.groups import BrokenError
from springtide.elastic.ranks.transports.ring import Ring

sizes = pytest.mark.parametrize("size", [2, 3, 5])


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
@pytest.mark.parametrize("length", [3, 700_001])
def test_what_is_given_stays_as_it_is_and_means_are_sums_divided(size: int, length: int) -> None:
    def work(ring: Ring) -> Any:
        given = np.full(length, ring.rank, dtype="float32")
        mean = np.full(length, np.nan, dtype="float32")
        ring.allreduce(mean, given, size)
        assert set(given) == {ring.rank}
        return mean

    for found in together(size, work):
        np.testing.assert_array_equal(found, np.full(length, (size - 1) / 2, dtype="float32"))


@sizes
def test_rounding_is_the_same_everywhere(size: int) -> None:
    def work(ring: Ring) -> bytes:
        mine = np.random.default_rng(ring.rank).standard_normal(400_003, dtype="float32")
        ring.allreduce(mine)
        return mine.tobytes()

    assert len(set(together(size, work))) == 1


@sizes
def test_everybody_hears_what_everybody_said(size: int) -> None:
    words = [b"x" * (rank * 1_000_000) for rank in range(size)]
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
