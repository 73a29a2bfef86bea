# SPDX-License-Identifier: Apache-2.0
"""A program of ours: arrays of NumPy, sums over our own ring."""

from __future__ import annotations

import numpy as np
import steps

from springtide import elastic

diary = steps.Diary()
few = np.zeros(1000, dtype=np.float32)


@elastic.run
def train(state: elastic.State) -> None:
    while True:
        steps.work()
        elastic.allreduce(few)
        state.step += 1
        diary.note(elastic.rank(), elastic.size(), state.step)
        if state.step % steps.COMMIT:
            state.check()
        else:
            state.commit()


train(elastic.State(weights=[np.ones(count, dtype=np.float32) for count in steps.arrays()], step=0))
