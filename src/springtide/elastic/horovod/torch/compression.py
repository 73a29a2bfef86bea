# SPDX-License-Identifier: Apache-2.0
"""`hvd.Compression` for PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from springtide.elastic.horovod.compression import NoneCompressor


class FP16Compressor:
    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return (tensor.half() if tensor.is_floating_point() else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor.to(ctx) if isinstance(ctx, torch.dtype) else tensor


class Compression:
    none = NoneCompressor
    fp16 = FP16Compressor
