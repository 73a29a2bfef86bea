# SPDX-License-Identifier: Apache-2.0
"""Horovod's `hvd.elastic` for PyTorch."""

from __future__ import annotations

from typing import Any

from springtide.elastic.horovod.running import run
from springtide.elastic.horovod.samplers import ElasticSampler
from springtide.elastic.horovod.states import HostsUpdatedInterrupt, ObjectState, State

__all__ = ["ElasticSampler", "HostsUpdatedInterrupt", "ObjectState", "State", "TorchState", "run"]


class TorchState(State):
    """Models, optimizers, samplers and plain values."""

    def __init__(self, model: Any = None, optimizer: Any = None, **values: Any) -> None:
        given = {"model": model, "optimizer": optimizer}
        super().__init__(**{name: value for name, value in given.items() if value is not None}, **values)
