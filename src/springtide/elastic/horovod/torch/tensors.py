# SPDX-License-Identifier: Apache-2.0
"""Allreduce, allgather and broadcast of PyTorch tensors. Names of operations are accepted and ignored.

Operations run in program order, which is the same on all ranks; the `async` ones are complete when they return.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from springtide.elastic import leaves
from springtide.elastic.groups import Group
from springtide.elastic.horovod import absent, objects, world
from springtide.elastic.horovod.reduction import Scaling, Sum, chosen
from springtide.elastic.horovod.torch import devices
from springtide.elastic.horovod.torch.compression import Compression

__all__ = [
    "allgather",
    "allgather_async",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "broadcast_optimizer_state",
    "broadcast_parameters",
    "grouped_allreduce",
    "grouped_allreduce_",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
    "poll",
    "synchronize",
]


def allreduce(  # noqa: PLR0913 - Horovod's options
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    compression: Any = Compression.none,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> Any:
    scales = (prescale_factor, postscale_factor)
    return grouped_allreduce([tensor], average, name, compression, op, *scales, process_set)[0]


def allreduce_(  # noqa: PLR0913 - Horovod's options
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> Any:
    return grouped_allreduce_([tensor], average, name, op, prescale_factor, postscale_factor, process_set)[0]


def grouped_allreduce(  # noqa: PLR0913 - Horovod's options
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    compression: Any = Compression.none,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> list[Any]:
    absent.refuse_process_set(process_set)
    scaling = chosen(op, average, prescale_factor, postscale_factor)
    return [_Summed.apply(each, scaling, compression) for each in tensors]


def grouped_allreduce_(  # noqa: PLR0913 - Horovod's options
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> list[Any]:
    absent.refuse_process_set(process_set)
    scaling = chosen(op, average, prescale_factor, postscale_factor)
    for tensor in tensors:
        with torch.no_grad():
            tensor.copy_(reduced(world.group(), tensor, scaling, Compression.none))
    return list(tensors)


def allreduce_async(  # noqa: PLR0913 - Horovod's options
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> Any:
    scales = (prescale_factor, postscale_factor)
    return allreduce(tensor, average, name, Compression.none, op, *scales, process_set)


def grouped_allreduce_async(  # noqa: PLR0913 - Horovod's options
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> list[Any]:
    scales = (prescale_factor, postscale_factor)
    return grouped_allreduce(tensors, average, name, Compression.none, op, *scales, process_set)


def allgather(tensor: Any, name: str | None = None, process_set: Any = None) -> Any:
    """Concatenates along the first dimension, in which the tensors may differ."""
    absent.refuse_process_set(process_set)
    return _Gathered.apply(tensor.reshape(1) if tensor.dim() == 0 else tensor)


def broadcast(tensor: Any, root_rank: int, name: str | None = None, process_set: Any = None) -> Any:
    absent.refuse_process_set(process_set)
    world.group()  # joins the group, so that the root is checked against its ranks
    world.check_root(root_rank)
    return _Copied.apply(tensor, root_rank)


def broadcast_(tensor: Any, root_rank: int, name: str | None = None, process_set: Any = None) -> Any:
    absent.refuse_process_set(process_set)
    group = world.group()
    world.check_root(root_rank)
    if group.size > 1:
        whole = leaves.in_main_memory(tensor).clone()
        group.broadcast(leaves.view(whole), root_rank)
        leaves.overwritten(tensor, whole)
    return tensor


def broadcast_parameters(params: Any, root_rank: int) -> None:
    """Broadcasts a `state_dict()` or `named_parameters()` in place. Values that are not tensors stay."""
    pairs = sorted(params.items()) if hasattr(params, "items") else list(params)
    group = world.group()
    if group.size == 1:
        return
    for _, tensor in pairs:
        if isinstance(tensor, torch.Tensor):
            broadcast_(tensor, root_rank)


def broadcast_optimizer_state(optimizer: Any, root_rank: int, model: Any = None) -> None:
    """Works before the first step too, when the state is still empty."""
    group = world.group()
    if group.size == 1:
        return
    skeleton, arrays = leaves.taken_apart(optimizer.state_dict())
    words = pickle.dumps(skeleton) if group.rank == root_rank else b""
    skeleton = pickle.loads(objects.from_one(group, words, root_rank))
    if group.rank == root_rank:
        arrays = [leaves.in_main_memory(each) for each in arrays]
    else:
        arrays = [leaves.made(leaf) for leaf in leaves.found_in(skeleton)]
    for array in arrays:
        group.broadcast(leaves.view(array), root_rank)
    if group.rank != root_rank:
        optimizer.load_state_dict(leaves.put_together(skeleton, iter(arrays)))


def synchronize(handle: Any) -> Any:
    return handle


def poll(handle: Any) -> bool:
    return True


allreduce_async_, grouped_allreduce_async_ = allreduce_, grouped_allreduce_
allgather_async, broadcast_async, broadcast_async_ = allgather, broadcast, broadcast_


def reduced(group: Group, tensor: Any, scaling: Scaling, compression: Any) -> Any:
    """A new tensor: the scaled sum over all ranks."""
    small, kept = compression.compress(tensor.detach())
    flat = small.contiguous().reshape(-1).clone()
    sum_(group, flat, scaling)
    return compression.decompress(flat.reshape(small.shape), kept)


def sum_(group: Group, flat: Any, scaling: Scaling) -> None:
    """Reduces a flat, contiguous tensor in place."""
    if scaling.before != 1.0:
        flat.mul_(scaling.before)
    if group.size > 1 and flat.is_cuda and devices.direct(group):
        dist.all_reduce(flat)
    elif group.size > 1:
        wide = _summable(flat)
        group.allreduce(wide.numpy())
        if wide.data_ptr() != flat.data_ptr():
            flat.copy_(wide)
    divisor = scaling.divisor(group.size)
    if divisor != 1.0:
        _divide(flat, divisor)


def _divide(flat: Any, divisor: float) -> None:
    """Integers stay integers; the division is integral where the divisor is."""
    if flat.is_floating_point() or flat.is_complex():
        flat.div_(divisor)
    elif flat.dtype != torch.bool and divisor == int(divisor):
        flat.div_(int(divisor), rounding_mode="trunc")
    else:
        flat.copy_((flat.double() / divisor).trunc())


def _summable(flat: Any) -> Any:
    """In main memory, in a type that NumPy can add."""
    if flat.dtype == torch.bfloat16:
        return flat.float().cpu()
    return flat.to(torch.uint8).cpu() if flat.dtype == torch.bool else flat.cpu()


class _Summed(torch.autograd.Function):
    """The gradient of a sum over ranks is the sum of their gradients."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, scaling: Scaling, compression: Any) -> Any:
        ctx.scaling = scaling
        return reduced(world.group(), tensor, scaling, compression)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return reduced(world.group(), gradients[0], ctx.scaling, Compression.none), None, None


class _Gathered(torch.autograd.Function):
    """The gradient of one rank's part is the sum over all ranks."""

    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        group = world.group()
        if group.size == 1:
            ctx.start, ctx.length = 0, len(tensor)
            return tensor.clone()
        parts = [_unpacked(each) for each in group.allgather(_packed(tensor.detach()))]
        ctx.start, ctx.length = sum(len(each) for each in parts[: group.rank]), len(tensor)
        return torch.cat(parts).to(tensor.device)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        whole = reduced(world.group(), gradients[0], chosen(Sum), Compression.none)
        return whole.narrow(0, ctx.start, ctx.length)


class _Copied(torch.autograd.Function):
    """The root's gradient is the sum over all ranks; the others' is zero."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, root: int) -> Any:
        ctx.root = root
        return broadcast_(tensor.detach().clone(), root)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        whole = reduced(world.group(), gradients[0], chosen(Sum), Compression.none)
        return whole if world.rank() == ctx.root else torch.zeros_like(whole), None


def _packed(tensor: Any) -> bytes:
    whole = leaves.in_main_memory(tensor)
    return pickle.dumps((leaves.described(whole), bytes(leaves.view(whole))))


def _unpacked(data: bytes) -> Any:
    leaf, content = pickle.loads(data)
    tensor = leaves.made(leaf)
    leaves.view(tensor)[:] = content
    return tensor
