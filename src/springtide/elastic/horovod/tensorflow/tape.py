# SPDX-License-Identifier: Apache-2.0
"""`DistributedGradientTape`: gradients that are the mean of all ranks'."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from springtide.elastic.horovod import reducing
from springtide.elastic.horovod.reduction import Average
from springtide.elastic.horovod.tensorflow.compression import Compression
from springtide.elastic.horovod.tensorflow.tensors import reduced


class _Reducing(reducing.Reducing):
    def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        found = super().gradient(target, sources, *args, **kwargs)  # type: ignore[misc]
        flat = tf.nest.flatten(found)
        whole = reduced(flat, self._tide_scaling, self._tide_compression, dense=self._tide_dense)
        return tf.nest.pack_sequence_as(found, whole)


def DistributedGradientTape(  # noqa: PLR0913 - Horovod's options
    gradtape: Any,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    op: Any = Average,
    gradient_predivide_factor: float = 1.0,
    **_: Any,
) -> Any:
    """The same object."""
    reducing.become(gradtape, _Reducing, (op, gradient_predivide_factor), compression, dense=sparse_as_dense)
    return gradtape
