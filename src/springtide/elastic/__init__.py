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

    launcher side   membership (who trains together), hosts, discovery, starting, coordinator, agent, output, progress
    rank side       session (link to the launcher), connections, collectives, sums, groups, ring, flow, state, samplers,
                    orders, checkpoints, running, reporting, mpi (ranks that mpirun has started)
    both            wire, members

Nothing of the rank side is loaded before a program uses a name of it: agents and launchers, which start before all
programs, use none. The first name loads all, because the package may be replaced on disk while the program trains, and
modules of two versions do not fit together.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from springtide.elastic.collectives import allgather, allreduce, barrier, broadcast, local_rank, rank, size
    from springtide.elastic.context import on_resize
    from springtide.elastic.groups import BrokenError
    from springtide.elastic.reporting import report
    from springtide.elastic.running import run
    from springtide.elastic.samplers import Sampler
    from springtide.elastic.state import State

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
    "Sampler": "samplers",
    "State": "state",
    "on_resize": "context",
    "report": "reporting",
    "run": "running",
}
"""Where a name is defined, if not among the collectives."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for each in __all__:
        globals()[each] = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(each, 'collectives')}"), each)
    return globals()[name]
