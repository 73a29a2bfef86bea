# SPDX-License-Identifier: Apache-2.0
"""`DistributedOptimizer`: any PyTorch optimizer, stepping with the mean of all ranks' gradients.

Gradients are reduced in `step`, many of a type at once: few large messages instead of many small ones, in an order that
does not depend on which gradients a rank has. A rank without a gradient, because its batch was empty, contributes
zeros.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch

from springtide.elastic.horovod import reducing, world
from springtide.elastic.horovod.reduction import Average, Scaling
from springtide.elastic.horovod.torch import tensors
from springtide.elastic.horovod.torch.compression import Compression

_BUCKET: Final = 64 << 20
"""Bytes that are reduced at once."""


class _Reducing(reducing.Reducing):
    param_groups: Any
    _tide_skips: bool

    def synchronize(self) -> None:
        """Reduces the gradients in place, for instance to clip them before the step."""
        with torch.no_grad():
            _reduce(self._tide_parameters(), self._tide_scaling, self._tide_compression, dense=self._tide_dense)

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """For a step after `synchronize`."""
        self._tide_skips = True
        try:
            yield
        finally:
            self._tide_skips = False

    def step(self, *args: Any, **kwargs: Any) -> Any:
        if not self._tide_skips:
            self.synchronize()
        return super().step(*args, **kwargs)  # type: ignore[misc]

    step.hooked = True  # type: ignore[attr-defined]  # PyTorch would have the hooks of steps called here once more

    def set_backward_passes_per_step(self, passes: int) -> None:
        """A no-op: whatever was accumulated before a step is reduced."""

    def _tide_parameters(self) -> list[Any]:
        return [each for group in self.param_groups for each in group["params"] if each.requires_grad]


def DistributedOptimizer(  # noqa: PLR0913 - Horovod's name and its options
    optimizer: Any,
    named_parameters: Iterable[tuple[str, Any]] | None = None,
    compression: Any = Compression.none,
    backward_passes_per_step: int = 1,
    op: Any = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Any = None,
    sparse_as_dense: bool = False,
    process_set: Any = None,
) -> Any:
    """The same object, so that schedulers and gradient scalers keep a valid reference."""
    if process_set is not None:
        raise NotImplementedError("process sets are not offered: all ranks train together")
    if named_parameters is not None:
        _check(optimizer, list(named_parameters))
    if reducing.become(optimizer, _Reducing, (op, gradient_predivide_factor), compression, dense=sparse_as_dense):
        _keep_scheduled(optimizer)
    optimizer._tide_skips = False
    return optimizer


def _keep_scheduled(optimizer: Any) -> None:
    """A scheduler created before has wrapped the old `step`, to detect whether it is called."""
    wrapped = optimizer.__dict__.get("step")
    if wrapped is None:
        return

    @functools.wraps(wrapped)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return type(optimizer).step(optimizer, *args, **kwargs)

    optimizer.step = step


def _check(optimizer: Any, named: Sequence[tuple[str, Any]]) -> None:
    if any(not isinstance(each, tuple) for each in named):
        raise ValueError("named_parameters are pairs of a name and a parameter, as model.named_parameters() gives them")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"named_parameters has some names more than once: {', '.join(twice)}")
    known = {id(each) for _, each in named}
    missing = [each for group in optimizer.param_groups for each in group["params"] if id(each) not in known]
    if missing:
        raise ValueError(f"named_parameters lacks {len(missing)} of the optimizer's parameters")


def _reduce(parameters: Sequence[Any], scaling: Scaling, compression: Any, *, dense: bool) -> None:
    if world.group().size == 1:
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        elif parameter.grad.is_sparse and dense:
            parameter.grad = parameter.grad.to_dense()
    sparse = [each for each in parameters if each.grad.is_sparse]
    for bucket in _buckets([each.grad for each in parameters if not each.grad.is_sparse]):
        _reduce_bucket(bucket, scaling, compression)
    for parameter in sparse:
        parameter.grad = _gathered(parameter.grad, scaling)


def _buckets(gradients: Iterable[Any]) -> Iterator[list[Any]]:
    """Buckets of one type and device each, in parameter order."""
    filling: dict[Any, list[Any]] = {}
    filled: Counter[Any] = Counter()
    for gradient in gradients:
        kind = (gradient.dtype, gradient.device)
        filling.setdefault(kind, []).append(gradient)
        filled[kind] += gradient.nbytes
        if filled[kind] >= _BUCKET:
            del filled[kind]
            yield filling.pop(kind)
    yield from filling.values()


def _reduce_bucket(gradients: Sequence[Any], scaling: Scaling, compression: Any) -> None:
    flat = torch.cat([each.reshape(-1) for each in gradients])
    small, kept = compression.compress(flat)
    tensors.sum_(world.group(), small, scaling)
    flat = compression.decompress(small, kept)
    for gradient, part in zip(gradients, flat.split([each.numel() for each in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def _gathered(gradient: Any, scaling: Scaling) -> Any:
    """Sparse gradients are gathered: the entries of all ranks, those of one index added up."""
    mine = gradient.coalesce()
    size = world.group().size
    places = tensors.allgather(mine.indices().t().contiguous()).t()
    values = tensors.allgather(mine.values() * scaling.before) / scaling.divisor(size)
    return torch.sparse_coo_tensor(places, values, gradient.shape, check_invariants=False).coalesce()
