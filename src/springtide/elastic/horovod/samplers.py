# SPDX-License-Identifier: Apache-2.0
"""Horovod's sampler: shares what is left of an epoch among the ranks of now, and pads it so that all get as many.

What is counted is how far all have come together: ranks take their batches in step. After a resize the rest is shared
anew, and nothing that was recorded comes again but what the padding repeats.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any

from springtide.elastic.horovod import world


class ElasticSampler:
    def __init__(self, dataset: Sized, shuffle: bool = True, seed: int = 0) -> None:
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch = 0
        self.processed_num = 0
        """Samples of this epoch that all ranks have trained together, those of the padding too."""
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """At the end of an epoch: what was recorded is forgotten, and the next one is shuffled differently."""
        self.epoch, self.processed_num = epoch, 0
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """A batch of this size has been trained, here and on all other ranks."""
        self.processed_num += batch_size * self.num_replicas

    def record_indices(self, indices: Sequence[int]) -> None:
        """The same for samples that are named: as many have been trained on every rank."""
        self.processed_num += len(indices) * self.num_replicas

    def get_indices(self, batch_idx: int, batch_size: int) -> list[int]:
        return self.indices[batch_idx * batch_size : (batch_idx + 1) * batch_size]

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.epoch, self.processed_num = state_dict["epoch"], state_dict["processed_num"]
        self.reset()

    def reset(self) -> None:
        """Share what is left among the ranks there are now."""
        self.num_replicas, self.rank = world.size(), world.rank()
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(order)
        self.remaining_indices = order[self.processed_num :]
        self.num_samples = -(-len(self.remaining_indices) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
        left = self.remaining_indices
        padded = left + (left * self.num_replicas)[: self.total_size - len(left)]
        self.indices = padded[self.rank :: self.num_replicas]

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples
