# SPDX-License-Identifier: Apache-2.0
"""Optimizers and gradient tapes of any framework that use the gradients of all ranks."""

from __future__ import annotations

from typing import Any

from springtide.elastic.horovod.reduction import Scaling, predivided


class Reducing:
    """The base of a framework's class that is mixed into the class of an optimizer or a tape."""

    _tide_scaling: Scaling
    _tide_compression: Any
    _tide_dense: bool


def become(given: Any, mixin: type[Reducing], scaling: tuple[object, float], compression: Any, *, dense: bool) -> bool:
    """Changes the class of the given object in place, so that all references to it see the change; returns whether it
    was another class before. `scaling` is an operation of Horovod and its predivision factor; one that is not offered
    leaves the object unchanged."""
    asked = predivided(*scaling)
    new = not isinstance(given, mixin)
    if new:
        kind = type(given)
        given.__class__ = type(kind.__name__, (mixin, kind), {"__module__": kind.__module__})
    given._tide_scaling = asked
    given._tide_compression = compression
    given._tide_dense = dense
    return new
