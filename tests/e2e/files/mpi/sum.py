# SPDX-License-Identifier: Apache-2.0
"""So many steps of a sum among all ranks, a tenth of a second each; every rank says where it was."""

import socket
import sys
import time

from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]

world, steps = MPI.COMM_WORLD, int(sys.argv[1])
for step in range(steps):
    total = world.allreduce(world.rank + step)
    assert total == sum(range(world.size)) + world.size * step, total
    if world.rank == 0:
        print("step", step, flush=True)
    time.sleep(0.1)
print("rank", world.rank, "of", world.size, "on", socket.gethostname(), flush=True)
