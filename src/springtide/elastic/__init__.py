# SPDX-License-Identifier: Apache-2.0
"""Elastic training: the launcher `tiderun`, and the library that lets a program be resized while it trains.

    from springtide import elastic

    state = elastic.State(weights=weights, sampler=elastic.Sampler(len(data), batch=256), step=0)

    @elastic.run
    def train(state):
        while state.sampler.epoch < 10:
            for share in state.sampler:
                gradient = elastic.allreduce(gradient_of(state.weights, data[share]), weight=len(share))
                ...
                state.commit()

    train(state)

Needs the standard library only; NumPy, PyTorch and TensorFlow are used if the program uses them.

    launcher          `tiderun`: decides which ranks train together, and starts their processes
    agent             the process that every rank runs under
    ranks             the library's functions, which programs call by the names below
    protocol          the messages between launcher, agents and ranks
    shared            the modules that all of them use
    context           this process's place among the ranks, for programs with a transport of their own
    groups, leaves    the interface between collectives and transports; state as a tree. Programs and checkpoints
                      refer to these modules by name
    torch_groups      PyTorch's process groups, one per generation
    horovod           Horovod's API

The rank side is loaded only when a program uses one of its names: agents and launchers, which start before the program,
use none. The first name loads all modules, because the package may be replaced on disk while the program trains, and
modules of different versions do not fit together.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from springtide.elastic.groups import BrokenError
    from springtide.elastic.ranks.collectives import allgather, allreduce, barrier, broadcast, local_rank, rank, size
    from springtide.elastic.ranks.context import on_resize
    from springtide.elastic.ranks.reporting import report
    from springtide.elastic.ranks.running import run
    from springtide.elastic.ranks.samplers import Sampler
    from springtide.elastic.ranks.state import State

__all__ = [
    "BrokenError",
    "Sampler",
    "State",
    "allgather",
    "allreduce",
    "barrier",
    "broadcast",
    "local_rank",
    "on_resize",
    "rank",
    "report",
    "run",
    "size",
]

_HOMES: Final = {
    "BrokenError": "groups",
    "Sampler": "ranks.samplers",
    "State": "ranks.state",
    "on_resize": "ranks.context",
    "report": "ranks.reporting",
    "run": "ranks.running",
}
"""The module of a name that is not in `ranks.collectives`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for each in __all__:
        globals()[each] = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(each, 'ranks.collectives')}"), each)
    importlib.import_module(f"{__name__}.context")
    return globals()[name]
