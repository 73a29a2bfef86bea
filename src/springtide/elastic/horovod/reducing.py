# SPDX-License-Identifier: Apache-2.0
"""Optimizers and tapes of any framework that work with the gradients of all ranks."""

from __future__ import annotations

from typing import Any

from springtide.elastic.horovod.reduction import Scaling, predivided


class Reducing:
    """What the class of an optimizer or a tape is mixed with, by a class of each framework."""

    _tide_scaling: Scaling
    _tide_compression: Any
    _tide_dense: bool


def become(given: Any, mixin: type[Reducing], scaling: tuple[object, float], compression: Any, *, dense: bool) -> bool:
    """Change the class of what is given, which everybody who holds it keeps; whether it was another before. `scaling`
    is an operation of Horovod's and its factor of predivision; one that is not offered leaves all as it was."""
    asked = predivided(*scaling)
    new = not isinstance(given, mixin)
    if new:
        kind = type(given)
        given.__class__ = type(kind.__name__, (mixin, kind), {"__module__": kind.__module__})
    given._tide_scaling = asked
    given._tide_compression = compression
    given._tide_dense = dense
    return new
