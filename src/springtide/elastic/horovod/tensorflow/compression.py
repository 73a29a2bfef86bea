# SPDX-License-Identifier: Apache-2.0
"""`hvd.Compression` for TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from springtide.elastic.horovod.compression import NoneCompressor


class FP16Compressor:
    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return (tf.cast(tensor, tf.float16) if tensor.dtype.is_floating else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor if ctx is None else tf.cast(tensor, ctx)


class Compression:
    none = NoneCompressor
    fp16 = FP16Compressor
