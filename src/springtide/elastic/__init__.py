# SPDX-License-Identifier: Apache-2.0
"""What runs inside training processes: `tiderun`, and the library that lets a program change its size while it trains.

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

Standard library alone; NumPy, PyTorch and TensorFlow are used where a program uses them.

    launcher          `tiderun`: who trains together, and the processes for that
    agent             the process that every rank runs under
    ranks             what programs call; the names below are its
    protocol          what these send each other
    shared            what they have in common below that
    context           where this process stands, for programs that bring a transport of their own
    groups, leaves    the seam between collectives and transports; state as a tree. Programs and checkpoints name them
    torch_groups      PyTorch's process groups, one for every generation
    horovod           Horovod's names

Nothing of the rank side is loaded before a program uses a name of it: agents and launchers, which start before all
programs, use none. The first name loads all, because the package may be replaced on disk while the program trains, and
modules of two versions do not fit together.
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
"""Where a name is defined, if not among the collectives."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for each in __all__:
        globals()[each] = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(each, 'ranks.collectives')}"), each)
    importlib.import_module(f"{__name__}.context")
    return globals()[name]
