# SPDX-License-Identifier: Apache-2.0
"""A program that trains by the library: what its ranks know is averaged, a number of steps long."""

from __future__ import annotations

import sys
import time

import numpy as np

from springtide import elastic

STEPS = int(sys.argv[1])
state = elastic.State(total=np.zeros(1000), step=0)


@elastic.run
def train(state: elastic.State) -> None:
    while state.step < STEPS:
        state.total += elastic.allreduce(np.ones(1000))
        state.step += 1
        time.sleep(0.01)
        state.commit()


train(state)
print(f"rank {elastic.rank()} of {elastic.size()}: {state.step} steps, {state.total.mean():g}")
