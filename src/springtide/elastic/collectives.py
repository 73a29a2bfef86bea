# SPDX-License-Identifier: Apache-2.0
"""What programs do together: sums, means and copies of arrays, and of trees of them, among the ranks of now."""

from __future__ import annotations

import importlib
import pickle
from numbers import Number
from typing import Any

from springtide.elastic import context, leaves, sums


def rank() -> int:
    now = context.entered()
    return now.rank if now is not None else context.expected().rank


def size() -> int:
    now = context.entered()
    return now.size if now is not None else context.expected_size()


def local_rank() -> int:
    """The place among the ranks of this host; before training begins it is the slot."""
    now = context.entered()
    return now.local_rank if now is not None else context.expected().local_rank


def allreduce(tree: Any, *, weight: float = 1.0, average: bool = True) -> Any:
    """The mean over all ranks, weighted by `weight`: samples in this rank's share, for gradients. Or the sum.

    A rank with nothing to add gives weight 0 and arrays of the right shape.
    """
    group = context.group()
    skeleton, arrays = leaves.taken_apart(_arrays(tree))
    if group.size == 1 and weight:
        return leaves.put_together(skeleton, iter([leaves.copied(each) for each in arrays]))
    found = sums.summed(group, [leaves.numbers(each) for each in arrays], float(weight), average=average)
    return leaves.put_together(skeleton, map(leaves.like, arrays, found))


def broadcast(tree: Any, root: int = 0) -> Any:
    """The root's, for all."""
    group = context.group()
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
    return [pickle.loads(each) for each in context.group().allgather(pickle.dumps(value))]


def barrier() -> None:
    context.group().allgather(b"")


def _arrays(tree: Any) -> Any:
    """Numbers are arrays too small to be called so."""
    if type(tree) is dict:
        return {key: _arrays(each) for key, each in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_arrays(each) for each in tree)
    if isinstance(tree, Number):
        numpy: Any = importlib.import_module("numpy")
        return numpy.asarray(tree, dtype=numpy.float64)
    return tree
