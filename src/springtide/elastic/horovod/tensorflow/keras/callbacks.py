# SPDX-License-Identifier: Apache-2.0
"""Horovod's callbacks for `model.fit`: equal initial weights, means of metrics, learning-rate schedules and warm-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from springtide.elastic.horovod import world
from springtide.elastic.horovod.tensorflow import tensors

__all__ = [
    "BroadcastGlobalVariablesCallback",
    "LearningRateScheduleCallback",
    "LearningRateWarmupCallback",
    "MetricAverageCallback",
]


class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
    """Broadcasts after the first batch, when all variables exist. In an elastic run the state was handed over
    before."""

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self._root, self._done = root_rank, False

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self._done and not world.is_elastic():
            tensors.broadcast_variables(self.model.variables, self._root)
            tensors.broadcast_variables(self.model.optimizer.variables, self._root)
        self._done = True


class MetricAverageCallback(keras.callbacks.Callback):
    """Replaces the metrics of an epoch with their means over all ranks, before other callbacks read them."""

    def __init__(self, device: str = "") -> None:
        super().__init__()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        names = sorted(logs or {})
        if logs and names:
            means = tensors.allreduce(np.array([logs[name] for name in names], dtype=np.float64)).numpy()
            logs.update((name, float(mean)) for name, mean in zip(names, means, strict=True))


class LearningRateScheduleCallback(keras.callbacks.Callback):
    """Sets the learning rate of an epoch: the initial one times a constant factor, or a factor per epoch.

    `momentum_correction` is accepted and has no effect: momentum is a plain number in Keras 3, and a compiled step
    keeps the value it was compiled with.
    """

    def __init__(  # noqa: PLR0913 - Horovod's options
        self,
        initial_lr: float,
        multiplier: float | Callable[[float], float],
        start_epoch: int = 0,
        end_epoch: int | None = None,
        staircase: bool = True,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
    ) -> None:
        super().__init__()
        self._first, self._staircase = initial_lr, staircase
        self._start, self._end = start_epoch, end_epoch
        self._steps = steps_per_epoch
        self._epoch = 0
        self._factor = multiplier if callable(multiplier) else lambda epoch: multiplier ** (epoch - start_epoch)

    def on_train_begin(self, logs: Any = None) -> None:
        if not self._staircase and not self._steps:
            self._steps = self.params.get("steps")
            if not self._steps:
                raise ValueError("steps_per_epoch is needed: model.fit does not know how many steps an epoch has")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self._epoch < self._start or (self._end is not None and self._epoch >= self._end):
            return
        if self._staircase and batch == 0:
            self._adjust(self._epoch)
        elif not self._staircase:
            self._adjust(self._epoch + batch / (self._steps or 1))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["lr"] = float(self.model.optimizer.learning_rate)

    def _adjust(self, epoch: float) -> None:
        self.model.optimizer.learning_rate = self._first * self._factor(epoch)


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Raises the learning rate step by step from that of one rank to the given one, which is for all ranks."""

    def __init__(
        self,
        initial_lr: float,
        warmup_epochs: int = 5,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
        verbose: int = 0,
    ) -> None:
        def factor(epoch: float) -> float:
            through = (epoch + 1.0 / (self._steps or 1)) / warmup_epochs
            return (1.0 + through * (world.size() - 1)) / world.size()

        super().__init__(initial_lr, factor, 0, warmup_epochs, False, momentum_correction, steps_per_epoch)
        self._verbose = verbose

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        super().on_epoch_end(epoch, logs)
        if self._verbose and self._end is not None and epoch == self._end - 1 and world.rank() == 0:
            rate = float(self.model.optimizer.learning_rate)
            print(f"\nEpoch {epoch + 1}: the learning rate has warmed up to {rate:g}.")
