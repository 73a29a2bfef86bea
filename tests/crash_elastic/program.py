# SPDX-License-Identifier: Apache-2.0
"""Counts its steps twice: once by itself, and once by what all ranks say together."""

from __future__ import annotations

import os
import sys
import time

print(f"pid {os.getpid()} worker {os.environ['TIDE_WORKER']}", flush=True)

import numpy as np  # noqa: E402 - a rank may be killed while it loads

from springtide import elastic  # noqa: E402

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
print(f"the end of {elastic.size()}: {state.step} steps, {state.total.mean():g}", flush=True)
