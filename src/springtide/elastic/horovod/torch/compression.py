# SPDX-License-Identifier: Apache-2.0
"""What gradients are turned into on their way: nothing else, or floats of half the size."""

from __future__ import annotations

from typing import Any

import torch


class NoneCompressor:
    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor


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
