# SPDX-License-Identifier: Apache-2.0
"""Sums and weighted means of many arrays over all ranks, in as few messages as possible.

All arrays of a type are summed as one. Small ones are exchanged unchanged, together with the weights, and every rank
sums them: this takes one round. Large ones are summed in transit, each rank a part. Either way all ranks get the same
bits.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from springtide.elastic.groups import Group
from springtide.elastic.ranks.memory import Memory

_SMALL: Final = 1 << 15
"""Bytes whose transfer takes less time than the latency."""
SIGNATURE: Final = 8
_HEAD: Final = struct.Struct(f"!d{SIGNATURE}s")
_memory = Memory()


@dataclass(frozen=True, slots=True)
class Share:
    """The weight of a rank's arrays, and the total weight."""

    weight: float
    total: float

    @classmethod
    def among(cls, weights: Sequence[float], rank: int) -> Share:
        """If all weights are equal, no multiplication is needed."""
        if len(set(weights)) == 1 and weights[0]:
            return cls(1.0, float(len(weights)))
        return cls(weights[rank], sum(weights) or 1.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """All arrays of a type, and their positions in the list."""

    type: Any
    places: list[int] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)

    @property
    def length(self) -> int:
        return sum(array.size for array in self.arrays)

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.length * self.type.itemsize)

    @property
    def data(self) -> bytes:
        return b"".join(array.tobytes() for array in self.arrays)

    def parted(self, flat: Any) -> Iterator[tuple[int, Any]]:
        start = 0
        for place, array in zip(self.places, self.arrays, strict=True):
            yield place, flat[start : start + array.size]
            start += array.size


def summed(group: Group, arrays: Sequence[Any], weight: float, *, average: bool, signature: bytes) -> list[Any]:
    """For each array the sum or the mean over all ranks, flat. The signature describes the arrays: ranks that summed
    different ones would get wrong results, or wait for each other."""
    batches = _batches(arrays)
    small = [batch for batch in batches if batch.size <= _SMALL]
    large = [batch for batch in batches if batch.size > _SMALL]
    weights, found = _told(group, small, weight, signature, average=average)
    share = Share.among(weights, group.rank)
    found += [_averaged(group, batch, share) if average else _totalled(group, batch) for batch in large]
    placed = (pair for batch, flat in zip((*small, *large), found, strict=True) for pair in batch.parted(flat))
    return [flat for _, flat in sorted(placed, key=itemgetter(0))]


def _batches(arrays: Sequence[Any]) -> list[Batch]:
    by_type: dict[Any, Batch] = {}
    for place, array in enumerate(arrays):
        batch = by_type.get(array.dtype)
        if batch is None:
            batch = by_type[array.dtype] = Batch(array.dtype)
        batch.places.append(place)
        batch.arrays.append(array)
    return list(by_type.values())


def _told(
    group: Group, small: Sequence[Batch], weight: float, signature: bytes, *, average: bool
) -> tuple[list[float], list[Any]]:
    """The weights of all ranks, and the sums of the small batches."""
    words = group.allgather(b"".join((_HEAD.pack(weight, signature), *(batch.data for batch in small))))
    heads = [_HEAD.unpack_from(each) for each in words]
    if len({theirs for _, theirs in heads}) > 1:
        raise ValueError("ranks can only add up trees of the same keys in the same order, types and shapes")
    weights = [theirs if average else 1.0 for theirs, _ in heads]
    found, start = [], _HEAD.size
    for batch in small:
        end = start + batch.size
        found.append(_added(batch.type, [each[start:end] for each in words], weights, average=average))
        start = end
    return weights, found


def _added(type_: Any, parts: Sequence[bytes], weights: Sequence[float], *, average: bool) -> Any:
    """The sum of half-precision numbers may overflow, and the mean of integers is not an integer, so both use a wider
    type."""
    numpy: Any = sys.modules["numpy"]
    wide = _wide(type_) if average or _half(type_) else type_
    sum_ = numpy.zeros(len(parts[0]) // type_.itemsize, dtype=wide)
    for part, weight in zip(parts, weights, strict=True):
        numbers = numpy.frombuffer(part, dtype=type_)
        if weight == 1.0:
            sum_ += numbers
        elif weight:
            sum_ += numbers * wide.type(weight)
    if average:
        sum_ /= sum(weights) or 1.0
    return sum_


def _totalled(group: Group, batch: Batch) -> Any:
    flat = _memory.taken(batch.type, batch.length)
    group.allreduce(flat, _gathered(batch, flat))
    return flat


def _averaged(group: Group, batch: Batch, share: Share) -> Any:
    """Half-precision numbers are divided before they are summed."""
    numpy: Any = sys.modules["numpy"]
    flat = _memory.taken(_wide(batch.type) if _whole(batch.type) else batch.type, batch.length)
    half = _half(batch.type)
    given, factor = None, share.weight / share.total if half else share.weight
    if not share.weight:
        flat.fill(0)
    elif factor == 1.0:
        given = _gathered(batch, flat)
    else:
        for (_, into), array in zip(batch.parted(flat), batch.arrays, strict=True):
            numpy.multiply(array.reshape(-1), factor, out=into)
    group.allreduce(flat, given, None if half else share.total)
    return flat


def _gathered(batch: Batch, flat: Any) -> Any:
    """All arrays as one; without a copy if there is only one."""
    numpy: Any = sys.modules["numpy"]
    parts = [array.reshape(-1) for array in batch.arrays]
    if len(parts) == 1 and flat.dtype == batch.type:
        return parts[0]
    return numpy.concatenate(parts, out=flat)


def _whole(type_: Any) -> bool:
    return type_.kind in "biu"


def _wide(type_: Any) -> Any:
    numpy: Any = sys.modules["numpy"]
    return numpy.result_type(type_, numpy.float64 if _whole(type_) else numpy.float32)


def _half(type_: Any) -> bool:
    return not _whole(type_) and type_.itemsize == 2
