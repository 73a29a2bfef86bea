# SPDX-License-Identifier: Apache-2.0
"""Errors for the names of Horovod that are not offered; each names the alternative."""

from __future__ import annotations

from typing import Final, NoReturn

_INSTEAD: Final = {
    "join": "ranks without samples still take part: see elastic.ElasticSampler",
    "global_process_set": "all ranks train together",
    "ProcessSet": "all ranks train together",
    "add_process_set": "all ranks train together",
    "remove_process_set": "all ranks train together",
    "alltoall": "allgather, and take your part",
    "reducescatter": "allreduce, and take your part",
    "grouped_allgather": "allgather, one by one",
    "sparse_allreduce_async": "DistributedOptimizer, which takes sparse gradients",
    "SyncBatchNorm": "torch.nn.SyncBatchNorm with torch_groups.use()",
    "SyncBatchNormalization": "keras.layers.BatchNormalization(synchronized=True), or none",
    "broadcast_object_fn": "broadcast_object",
    "broadcast_global_variables": "broadcast_variables",
    "rank_op": "rank",
    "size_op": "size",
    "local_rank_op": "local_rank",
    "local_size_op": "local_size",
    "start_timeline": "your framework's profiler",
    "stop_timeline": "your framework's profiler",
}


def refuse(module: str, name: str) -> NoReturn:
    """Called by a module's `__getattr__`."""
    if name in _INSTEAD:
        raise AttributeError(f"{module}.{name} is not offered. Instead: {_INSTEAD[name]}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def refuse_process_set(given: object) -> None:
    if given is not None:
        raise NotImplementedError("process sets are not offered: all ranks train together")
