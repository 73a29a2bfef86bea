# SPDX-License-Identifier: Apache-2.0
"""A program that trains for ever, ten steps a second, and says at which it is."""

from __future__ import annotations

import sys
import time

from springtide import elastic

folder, every = sys.argv[1] or None, int(sys.argv[2])
state = elastic.State(checkpoint=folder, every=every, step=0)


@elastic.run
def train(state: elastic.State) -> None:
    while True:
        time.sleep(0.1)
        state.step += 1
        elastic.report(state.step)
        if elastic.rank() == 0:
            print(f"step {state.step}", flush=True)
        state.commit()


train(state)
