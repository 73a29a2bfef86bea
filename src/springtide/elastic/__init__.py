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

Standard library alone; NumPy, PyTorch, TensorFlow and JAX are used where a program uses them.

    launcher side   membership (who trains together), hosts, discovery, starting, coordinator, agent, output, progress
    rank side       session (link to the launcher), connections, groups, ring, state, samplers, checkpoints, running,
                    reporting
    both            wire
"""

from __future__ import annotations

from springtide.elastic.collectives import allgather, allreduce, barrier, broadcast, local_rank, rank, size
from springtide.elastic.context import Resized, current
from springtide.elastic.reporting import report
from springtide.elastic.running import run
from springtide.elastic.samplers import Sampler
from springtide.elastic.state import State

__all__ = [
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


def on_resize(told: Resized) -> Resized:
    """Have a function called with the old and the new size after every resize: to rescale a learning rate, say."""
    current().on_resize.append(told)
    return told
