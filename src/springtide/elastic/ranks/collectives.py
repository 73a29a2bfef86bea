# SPDX-License-Identifier: Apache-2.0
"""Collectives: sums, means and copies of arrays, and of trees of arrays, among the current ranks."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
from numbers import Number
from typing import Any

from springtide.elastic import leaves
from springtide.elastic.ranks import context, sums


def rank() -> int:
    now = context.entered()
    return now.rank if now is not None else context.expected().rank


def size() -> int:
    now = context.entered()
    return now.size if now is not None else context.expected_size()


def local_rank() -> int:
    """The index among the ranks of this host; before training begins it is the slot."""
    now = context.entered()
    return now.local_rank if now is not None else context.expected().local_rank


def allreduce(tree: Any, *, weight: float = 1.0, average: bool = True) -> Any:
    """The mean over all ranks, weighted by `weight` (for gradients: the samples in this rank's share), or the sum.

    A rank with nothing to add passes weight 0 and arrays of the right shape with any content. TypeError for values
    other than arrays and numbers. ValueError if the ranks' trees differ in structure.
    """
    group = context.group()
    skeleton, arrays = leaves.taken_apart(tree, _array)
    arrays = [_summable(each) for each in arrays]
    if group.size == 1 and weight:
        return leaves.put_together(skeleton, iter([leaves.copied(each) for each in arrays]))
    numbers = [leaves.numbers(each) for each in arrays]
    found = sums.summed(group, numbers, float(weight), average=average, signature=_signature(skeleton))
    return leaves.put_together(skeleton, map(leaves.like, arrays, found))


def broadcast(tree: Any, root: int = 0) -> Any:
    """The root's tree, on all ranks."""
    group = context.group()
    if not 0 <= root < group.size:
        raise ValueError(f"there is no rank {root} among {group.size}")
    if group.size == 1:
        return tree
    words = pickle.dumps(tree) if group.rank == root else b""
    length = bytearray(len(words).to_bytes(8, "big"))
    group.broadcast(memoryview(length), root)
    data = bytearray(words) if words else bytearray(int.from_bytes(length, "big"))
    group.broadcast(memoryview(data), root)
    return pickle.loads(data)


def allgather(value: Any) -> list[Any]:
    """The values of all ranks, in rank order."""
    return [pickle.loads(each) for each in context.group().allgather(pickle.dumps(value))]


def barrier() -> None:
    context.group().allgather(b"")


def _signature(skeleton: Any) -> bytes:
    return hashlib.blake2b("".join(leaves.spelled(skeleton)).encode(), digest_size=sums.SIGNATURE).digest()


def _array(value: Any) -> Any:
    """Converts numbers to arrays; None contributes nothing."""
    numpy: Any = sys.modules.get("numpy") or (importlib.import_module("numpy") if isinstance(value, Number) else None)
    if value is None:
        return None
    if numpy is not None and isinstance(value, Number | numpy.bool_):
        return numpy.asarray(value, dtype=numpy.complex128 if isinstance(value, complex) else numpy.float64)
    if numpy is not None and isinstance(value, numpy.ndarray) and not isinstance(value, numpy.ma.MaskedArray):
        return _summable(numpy.asarray(value))
    raise TypeError(f"there is no sum of {type(value).__name__}: only of arrays, tensors and numbers")


def _summable(array: Any) -> Any:
    if not hasattr(array, "detach") and array.dtype.kind not in "biufc":
        raise TypeError(f"there is no sum of {array.dtype}: only of numbers")
    return array
