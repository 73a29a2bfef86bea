# SPDX-License-Identifier: Apache-2.0
"""Horovod's sampler: divides the rest of an epoch among the current ranks, padded so that all get equally many.

It counts the samples of all ranks together: ranks take their batches in step. After a resize the rest is divided again,
and no recorded sample is repeated except by the padding.
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
        """Samples of this epoch that all ranks have trained together, including padding."""
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """Called at the end of an epoch: clears the record, and shuffles the next epoch differently."""
        self.epoch, self.processed_num = epoch, 0
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Records a batch of this size, trained here and on all other ranks."""
        self.processed_num += batch_size * self.num_replicas

    def record_indices(self, indices: Sequence[int]) -> None:
        """Records samples by index: every rank has trained as many."""
        self.processed_num += len(indices) * self.num_replicas

    def get_indices(self, batch_idx: int, batch_size: int) -> list[int]:
        return self.indices[batch_idx * batch_size : (batch_idx + 1) * batch_size]

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.epoch, self.processed_num = state_dict["epoch"], state_dict["processed_num"]
        self.reset()

    def reset(self) -> None:
        """Divide the remaining samples among the current ranks."""
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
