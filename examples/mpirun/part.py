# SPDX-License-Identifier: Apache-2.0
"""One rank of a round: throws darts at a square, and tells the others how many hit the circle in it."""

from __future__ import annotations

import json
import os
import random
import socket
import sys

from mpi4py import MPI

DARTS = 200_000


def main() -> None:
    world = MPI.COMM_WORLD
    dice = random.Random(f"{sys.argv[1]} {world.rank}")
    inside = sum(dice.random() ** 2 + dice.random() ** 2 < 1 for _ in range(DARTS))
    points, inside = world.allreduce(DARTS), world.allreduce(inside)
    hosts = world.gather(os.environ.get("HOSTNAME") or socket.gethostname())  # pods may share the machine's own name
    if hosts is not None:
        print(json.dumps([points, inside, hosts]), flush=True)


if __name__ == "__main__":
    main()
