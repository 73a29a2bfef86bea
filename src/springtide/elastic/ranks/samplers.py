# SPDX-License-Identifier: Apache-2.0
"""Which samples a rank trains next: within an epoch none is repeated and none is dropped, at any size.

All ranks shuffle alike and go through the epoch together, one total batch after the other; each takes its share of
every batch. Only the common position counts, not which rank trained which sample: after a resize the rest is divided
again. At the end of an epoch shares may be short or empty; a rank with an empty share still takes part in every step.

    for share in sampler:                       batches that the program reads itself
    for batch in sampler.through(loader):       batches of a loader that reads ahead

A loader that reads ahead requests shares long before they are trained, so they count when the loader returns them, and
batches that it has read for another size are read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from springtide.elastic.ranks import context
from springtide.elastic.ranks.orders import Order

B = TypeVar("B")


class Sampler:
    __module__ = "springtide.elastic"  # pickles refer to the class by this name, wherever it is defined

    def __init__(self, length: int, batch: int, *, shuffle: bool = True, seed: int = 0) -> None:
        """`batch` is the total of all ranks."""
        if length < 0 or batch < 1:
            raise ValueError(f"a sampler needs a length of at least 0 and a batch of at least 1, not {length}, {batch}")
        self.length, self.batch, self.shuffle, self.seed = length, batch, shuffle, seed
        self.epoch = 0
        self.consumed = 0
        """Samples of this epoch that are trained, by all ranks together."""
        self._under_way = 0
        self._ahead = False
        """Shares are requested by a loader: they count when the loader returns them."""
        self._asked = False

    def __iter__(self) -> Iterator[list[int]]:
        """This rank's share of each remaining batch of the epoch; the next epoch begins after that."""
        self._asked = True
        return self._read_ahead() if self._ahead else self._handed_out()

    def through(self, loader: Iterable[B]) -> Iterator[B | None]:
        """The batches of a loader that takes its shares from this sampler, as a DataLoader's `batch_sampler`, and may
        read ahead. None where this rank's share is empty, as loaders cannot read empty batches."""
        while self._left():
            self._ahead, self._asked = True, False
            try:
                yield from self._until_resized(iter(loader))
            finally:
                self._ahead = False
        self._end()

    def _until_resized(self, batches: Iterator[B]) -> Iterator[B | None]:
        place = rank, _ = _place()
        while self._left() and _place() == place:
            batch = None
            if rank < min(self.batch, self._left()):
                batch = next(batches)
                if not self._asked:
                    raise ValueError("this loader does not take its shares from this sampler, its batch_sampler")
            self._advance()
            yield batch

    def __len__(self) -> int:
        """The remaining batches of the epoch."""
        return -(-self._left() // self.batch)

    def state_dict(self) -> dict[str, int]:
        """A batch that was handed out counts as trained: state is saved between two steps."""
        return {"epoch": self.epoch, "consumed": self.consumed + self._under_way}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.epoch, self.consumed, self._under_way = state["epoch"], state["consumed"], 0

    def _handed_out(self) -> Iterator[list[int]]:
        order = self._order()
        while self._left():
            self._advance()
            yield _share(order, self.consumed, self.consumed + self._under_way, *_place())
        self._end()

    def _read_ahead(self) -> Iterator[list[int]]:
        order, place = self._order(), _place()
        for start in range(self.length - self._left(), self.length, self.batch):
            share = _share(order, start, min(start + self.batch, self.length), *place)
            if share:
                yield share

    def _left(self) -> int:
        """Samples of the epoch that have not been handed out."""
        return self.length - self.consumed - self._under_way

    def _advance(self) -> None:
        self.consumed += self._under_way
        self._under_way = min(self.batch, self.length - self.consumed)

    def _end(self) -> None:
        self.epoch, self.consumed, self._under_way = self.epoch + 1, 0, 0

    def _order(self) -> Order | None:
        return Order(self.length, f"{self.seed}/{self.epoch}") if self.shuffle else None


def _place() -> tuple[int, int]:
    now = context.current()
    return now.rank, now.size


def _share(order: Order | None, start: int, end: int, rank: int, size: int) -> list[int]:
    places = range(start + rank, end, size)
    return order.at(places) if order is not None else list(places)
