# SPDX-License-Identifier: Apache-2.0
"""`DistributedOptimizer`: any Keras optimizer, stepping with the mean of all ranks' gradients.

Keras compiles training steps with XLA where it can, and XLA rejects operations that leave the graph. Keras must not
compile a model with such an optimizer; it asks the model, not the optimizer, so its check is patched.

Keras 3 has no `lr`, only `learning_rate`; programs for Horovod call `opt.lr.assign(...)`.
"""

from __future__ import annotations

import importlib
from typing import Any

import keras

from springtide.elastic.horovod import reducing
from springtide.elastic.horovod.reduction import Average
from springtide.elastic.horovod.tensorflow.compression import Compression
from springtide.elastic.horovod.tensorflow.tensors import reduced


class _Reducing(reducing.Reducing):
    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        whole = reduced(list(grads), self._tide_scaling, self._tide_compression, dense=self._tide_dense)
        return super().apply(whole, trainable_variables)  # type: ignore[misc]


def DistributedOptimizer(  # noqa: PLR0913 - Horovod's options
    optimizer: Any,
    name: str | None = None,
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    gradient_predivide_factor: float = 1.0,
    op: Any = Average,
    backward_passes_per_step: int = 1,
    **_: Any,
) -> Any:
    """The same object, so that existing references stay valid."""
    if backward_passes_per_step != 1:
        raise NotImplementedError(
            "backward_passes_per_step is not offered with Keras, which accumulates gradients itself: "
            "give the optimizer gradient_accumulation_steps"
        )
    _keep_from_xla()
    reducing.become(optimizer, _Reducing, (op, gradient_predivide_factor), compression, dense=sparse_as_dense)
    return optimizer


def _keep_from_xla() -> None:
    trainer: Any = importlib.import_module("keras.src.trainers.trainer")
    asked = trainer.model_supports_jit
    if getattr(asked, "knows_tide", False):
        return

    def answered(model: Any) -> bool:
        return not isinstance(getattr(model, "optimizer", None), _Reducing) and bool(asked(model))

    answered.knows_tide = True  # type: ignore[attr-defined]
    trainer.model_supports_jit = answered


def _learning_rate(self: Any) -> Any:
    """The variable, so that programs can assign to it."""
    return getattr(self._learning_rate, "value", self._learning_rate)


def alias_learning_rate() -> None:
    if not hasattr(keras.optimizers.Optimizer, "lr"):
        keras.optimizers.Optimizer.lr = property(_learning_rate)
