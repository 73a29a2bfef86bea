# SPDX-License-Identifier: Apache-2.0
"""What programs do together: sums, means and copies of arrays, and of trees of them, among the ranks of now."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator
from numbers import Number
from typing import Any

from springtide.elastic import context, leaves


def rank() -> int:
    return context.current().rank


def size() -> int:
    return context.current().size


def local_rank() -> int:
    return context.current().local_rank


def allreduce(tree: Any, *, weight: float = 1.0, average: bool = True) -> Any:
    """The mean over all ranks, weighted by `weight`: samples in this rank's share, for gradients. Or the sum.

    A rank with nothing to add gives weight 0 and arrays of the right shape.
    """
    group = context.current().group
    skeleton, arrays = leaves.taken_apart(_arrays(tree))
    if group.size == 1 and weight:
        return leaves.put_together(skeleton, iter([leaves.copied(each) for each in arrays]))
    numpy: Any = importlib.import_module("numpy")
    total = numpy.array([weight], dtype=numpy.float64)
    if average:
        group.allreduce(total)
    summed: list[Any] = [None] * len(arrays)
    given = [leaves.numbers(each) for each in arrays]
    for places, flat in _fused(given, weight if average else 1.0):
        group.allreduce(flat)
        if average:
            flat /= total[0] or 1.0
        for place, part in zip(places, _parted(flat, [given[place] for place in places]), strict=True):
            summed[place] = leaves.like(arrays[place], part)
    return leaves.put_together(skeleton, iter(summed))


def broadcast(tree: Any, root: int = 0) -> Any:
    """The root's, for all."""
    group = context.current().group
    if group.size == 1:
        return tree
    words = pickle.dumps(tree) if group.rank == root else b""
    length = bytearray(len(words).to_bytes(8, "big"))
    group.broadcast(memoryview(length), root)
    data = bytearray(words) if words else bytearray(int.from_bytes(length, "big"))
    group.broadcast(memoryview(data), root)
    return pickle.loads(data)


def allgather(value: Any) -> list[Any]:
    """What each rank gave, in the order of ranks."""
    return [pickle.loads(each) for each in context.current().group.allgather(pickle.dumps(value))]


def barrier() -> None:
    context.current().group.allgather(b"")


def _arrays(tree: Any) -> Any:
    """Numbers are arrays too small to be called so."""
    if type(tree) is dict:
        return {key: _arrays(each) for key, each in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_arrays(each) for each in tree)
    if leaves.described(tree) is None and isinstance(tree, Number):
        numpy: Any = importlib.import_module("numpy")
        return numpy.asarray(tree, dtype=numpy.float64)
    return tree


def _fused(given: list[Any], weight: float) -> list[tuple[list[int], Any]]:
    """All arrays of a type as one: a few large messages instead of many small ones."""
    numpy = sys.modules["numpy"]
    by_type: dict[str, list[int]] = {}
    for place, array in enumerate(given):
        by_type.setdefault(array.dtype.str, []).append(place)
    return [
        (places, numpy.concatenate([given[place].reshape(-1) for place in places]) * weight)
        for places in by_type.values()
    ]


def _parted(flat: Any, like: list[Any]) -> Iterator[Any]:
    start = 0
    for array in like:
        yield flat[start : start + array.size]
        start += array.size
