# SPDX-License-Identifier: Apache-2.0
"""So many steps of an allreduce among all ranks, with a pause after each; rank 0 tells of every step."""

import socket
import sys
import time

from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]

steps, pause = int(sys.argv[1]), float(sys.argv[2])
world = MPI.COMM_WORLD
total = 0
for step in range(steps):
    total = world.allreduce(world.rank + step)
    assert total == sum(range(world.size)) + world.size * step, total
    if world.rank == 0:
        print("step", step, flush=True)
    time.sleep(pause)
print("rank", world.rank, "of", world.size, "on", socket.gethostname(), "total", total, flush=True)
