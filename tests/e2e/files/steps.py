# SPDX-License-Identifier: Apache-2.0
"""A program that trains until a file is there. Every rank tells each of its steps, and on which host it is."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import numpy as np

from springtide import elastic

end, host = Path(sys.argv[1]), socket.gethostname()
state = elastic.State(total=np.zeros(1000), step=0)


@elastic.run
def train(state: elastic.State) -> None:
    while True:
        ones, over = elastic.allreduce((np.ones(1000), float(end.exists())))
        state.total += ones
        state.step += 1
        assert state.total.max() == state.step, "nothing that was learned is forgotten"
        elastic.report(step=state.step)
        print(f"step {state.step} rank {elastic.rank()} of {elastic.size()} on {host}", flush=True)
        time.sleep(0.05)
        state.commit()
        if over:
            return


train(state)
