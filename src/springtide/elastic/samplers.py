# SPDX-License-Identifier: Apache-2.0
"""Which samples a rank takes next, so that within an epoch none is repeated and none is dropped, whatever the size.

All ranks shuffle alike and walk through the epoch together, one total batch after the other; each takes its share of
every batch. What counts is how far they have come, not who took what: after a resize the rest is shared anew. At the
end of an epoch shares may be short or empty; a rank with nothing to do still takes part in every step.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from springtide.elastic import context


class Sampler:
    def __init__(self, length: int, batch: int, *, shuffle: bool = True, seed: int = 0) -> None:
        """`batch` is that of all ranks together."""
        if length < 0 or batch < 1:
            raise ValueError(f"a sampler needs a length of at least 0 and a batch of at least 1, not {length}, {batch}")
        self.length, self.batch, self.shuffle, self.seed = length, batch, shuffle, seed
        self.epoch = 0
        self.consumed = 0
        """Samples of this epoch that are trained, by all ranks together."""
        self._under_way = 0

    def __iter__(self) -> Iterator[list[int]]:
        """This rank's share of each batch that is left of the epoch; the next begins when this one is through."""
        order = self._order()
        while self.consumed + self._under_way < self.length:
            self.consumed += self._under_way
            self._under_way = min(self.batch, self.length - self.consumed)
            now = context.current()
            whole = order[self.consumed : self.consumed + self._under_way]
            yield whole[now.rank :: now.size]
        self.epoch, self.consumed, self._under_way = self.epoch + 1, 0, 0

    def __len__(self) -> int:
        """Batches that are left of the epoch."""
        return -(-(self.length - self.consumed - self._under_way) // self.batch)

    def _order(self) -> list[int]:
        order = list(range(self.length))
        if self.shuffle:
            random.Random(f"{self.seed}/{self.epoch}").shuffle(order)
        return order

    def state_dict(self) -> dict[str, int]:
        """A batch that was handed out counts as trained: state is saved between two steps."""
        return {"epoch": self.epoch, "consumed": self.consumed + self._under_way}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.epoch, self.consumed, self._under_way = state["epoch"], state["consumed"], 0
