# SPDX-License-Identifier: Apache-2.0
"""In the place of an image's example: all ranks find the mean of what each has drawn, and agree on it."""

import random
import socket

from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]

world = MPI.COMM_WORLD
for step in range(10):
    mine = random.Random(f"{world.rank} {step}").random()
    everybody = world.allgather(mine)
    assert len(everybody) == world.size
    assert abs(world.allreduce(mine) - sum(everybody)) < 1e-9
    if world.rank == 0:
        print("step", step, "mean", round(sum(everybody) / world.size, 4), flush=True)
print("rank", world.rank, "of", world.size, "on", socket.gethostname(), flush=True)
