# SPDX-License-Identifier: Apache-2.0
"""How an optimizer of any framework becomes one that reduces gradients."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.elastic.horovod import reducing
from springtide.elastic.horovod.compression import NoneCompressor
from springtide.elastic.horovod.reduction import Adasum, Average, Scaling, Sum


class _Doubling(reducing.Reducing):
    def step(self) -> int:
        return 2 * super().step()  # type: ignore[misc, no-any-return]


class Optimizer:
    def step(self) -> int:
        return 3


def test_whoever_holds_an_optimizer_keeps_it() -> None:
    optimizer: Any = Optimizer()
    assert reducing.become(optimizer, _Doubling, (Average, 1.0), NoneCompressor, dense=True)
    assert (optimizer.step(), type(optimizer).__name__, type(optimizer).__module__) == (6, "Optimizer", __name__)
    assert Optimizer in type(optimizer).mro()
    assert optimizer._tide_scaling == Scaling()
    assert optimizer._tide_compression is NoneCompressor
    assert optimizer._tide_dense


def test_it_becomes_so_once_and_takes_the_last_options() -> None:
    optimizer: Any = Optimizer()
    reducing.become(optimizer, _Doubling, (Average, 2.0), NoneCompressor, dense=True)
    assert not reducing.become(optimizer, _Doubling, (Sum, 1.0), NoneCompressor, dense=False)
    assert optimizer.step() == 6
    assert not optimizer._tide_scaling.mean
    assert not optimizer._tide_dense


@pytest.mark.parametrize("scaling", [(Adasum, 1.0), (Sum, 2.0)], ids=["operation", "predivision"])
def test_what_is_refused_leaves_it_as_it_was(scaling: tuple[object, float]) -> None:
    """A program that then asks for something else gets it, and is told that it is the first time."""
    optimizer: Any = Optimizer()
    with pytest.raises((NotImplementedError, ValueError)):
        reducing.become(optimizer, _Doubling, scaling, NoneCompressor, dense=False)
    assert (type(optimizer), vars(optimizer)) == (Optimizer, {})
    assert reducing.become(optimizer, _Doubling, (Average, 1.0), NoneCompressor, dense=False)
    assert optimizer.step() == 6
    with pytest.raises((NotImplementedError, ValueError)):
        reducing.become(optimizer, _Doubling, scaling, NoneCompressor, dense=True)
    assert (optimizer._tide_scaling, optimizer._tide_dense) == (Scaling(), False)
