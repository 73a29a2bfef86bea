# SPDX-License-Identifier: Apache-2.0
"""Collectives of numbers and arrays as NumPy values, and models loaded with a distributed optimizer."""

from __future__ import annotations

from typing import Any

import keras

from springtide.elastic.horovod.tensorflow import tensors
from springtide.elastic.horovod.tensorflow.compression import Compression
from springtide.elastic.horovod.tensorflow.optimizer import DistributedOptimizer

__all__ = ["allgather", "allreduce", "broadcast", "load_model"]


def allreduce(value: Any, name: str | None = None, average: bool | None = None, **more: Any) -> Any:
    return tensors.allreduce(value, average, **more).numpy()


def allgather(value: Any, name: str | None = None) -> Any:
    return tensors.allgather(value).numpy()


def broadcast(value: Any, root_rank: int, name: str | None = None) -> Any:
    return tensors.broadcast(value, root_rank).numpy()


def load_model(
    filepath: Any,
    custom_optimizers: Any = None,
    custom_objects: dict[str, Any] | None = None,
    compression: Any = Compression.none,
) -> Any:
    known = {kind.__name__: kind for kind in custom_optimizers or ()} | (custom_objects or {})
    model = keras.models.load_model(filepath, custom_objects=known)
    DistributedOptimizer(model.optimizer, compression=compression)
    model.jit_compile = False
    return model
