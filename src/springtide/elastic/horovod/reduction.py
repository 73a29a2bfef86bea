# SPDX-License-Identifier: Apache-2.0
"""How the values of all ranks are reduced: to their mean or their sum. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "Adasum",
    "Average",
    "Max",
    "Min",
    "Product",
    "Sum",
]


@dataclass(frozen=True, slots=True)
class Reduction:
    name: str


Average: Final = Reduction("Average")
Sum: Final = Reduction("Sum")
Adasum: Final = Reduction("Adasum")
Min: Final = Reduction("Min")
Max: Final = Reduction("Max")
Product: Final = Reduction("Product")


@dataclass(frozen=True, slots=True)
class Scaling:
    """The factors of a rank's values before the sum, and of the sum after it."""

    before: float = 1.0
    after: float = 1.0
    mean: bool = True

    def divisor(self, size: int) -> float:
        return (size if self.mean else 1) / self.after


def chosen(op: object = None, average: bool | None = None, before: float = 1.0, after: float = 1.0) -> Scaling:
    """The scaling for the arguments of a program. `average` is Horovod's old argument."""
    if op is not None and average is not None:
        raise ValueError("op and average set the same option: give only one of them")
    if op is None:
        op = Sum if average is False else Average
    if op is Adasum:
        raise NotImplementedError(
            "Adasum is not offered. Use op=hvd.Average with a learning rate that is scaled by hvd.size()"
        )
    if op not in (Average, Sum):
        name = op.name if isinstance(op, Reduction) else repr(op)
        raise NotImplementedError(f"op={name} is not offered: there are hvd.Average and hvd.Sum")
    return Scaling(before, after, op is Average)


def predivided(op: object, factor: float) -> Scaling:
    """For gradients: divides partly before the sum, so that half-precision floats do not overflow."""
    scaling = chosen(op)
    if factor == 1.0:
        return scaling
    if not scaling.mean:
        raise ValueError("gradient_predivide_factor requires op=hvd.Average")
    return Scaling(1.0 / factor, factor, mean=True)
