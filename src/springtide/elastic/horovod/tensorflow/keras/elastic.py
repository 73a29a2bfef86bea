# SPDX-License-Identifier: Apache-2.0
"""Horovod's `hvd.elastic` for `model.fit`: a state, and the callbacks that update and commit it.

A reset ends `fit` with an interrupt, and the training function calls it again for the remaining epochs.
"""

from __future__ import annotations

from typing import Any

import keras

from springtide.elastic.horovod.states import HostsUpdatedInterrupt, State
from springtide.elastic.horovod.tensorflow.elastic import TensorFlowKerasState, run

__all__ = [
    "CommitStateCallback",
    "HostsUpdatedInterrupt",
    "KerasState",
    "UpdateBatchStateCallback",
    "UpdateEpochStateCallback",
    "run",
]


class KerasState(TensorFlowKerasState):
    """The state of a compiled model."""


class CommitStateCallback(keras.callbacks.Callback):
    """Commits every `batches_per_commit` batches, and at the end of every epoch."""

    def __init__(self, state: State, batches_per_commit: int = 1) -> None:
        super().__init__()
        self._state, self._every, self._count = state, batches_per_commit, 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._count = 0  # new members start counting here, and all ranks must count alike

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._count += 1
        if self._count % self._every == 0:
            self._state.commit()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._state.commit()


class UpdateBatchStateCallback(keras.callbacks.Callback):
    """Keeps `state.batch`: the last trained batch of the epoch."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._state.batch = batch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._state.batch = 0


class UpdateEpochStateCallback(keras.callbacks.Callback):
    """Keeps `state.epoch`: the completed epochs. `fit` counts from zero every time."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state, self._before = state, state.epoch

    def on_train_begin(self, logs: Any = None) -> None:
        self._before = self._state.epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._state.epoch = self._before + epoch + 1
