# SPDX-License-Identifier: Apache-2.0
"""A program that trains up to a step, from wherever the last run of it has come to."""

from __future__ import annotations

import sys

import numpy as np

from springtide import elastic

folder, last = sys.argv[1], int(sys.argv[2])
state = elastic.State(checkpoint=folder, weights=np.zeros(3), rate=1.0, step=0)


@elastic.on_resize
def rescale(old: int, new: int) -> None:
    state.rate *= new / old


@elastic.run
def train(state: elastic.State) -> None:
    first = state.step
    while state.step < last:
        state.weights += elastic.allreduce(np.ones(3))
        state.step += 1
        state.commit()
    print(f"rank {elastic.rank()} of {elastic.size()} from {first} to {state.weights.mean():g}, rate {state.rate:g}")


train(state)
