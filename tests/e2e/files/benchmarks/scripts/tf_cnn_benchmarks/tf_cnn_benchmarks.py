# SPDX-License-Identifier: Apache-2.0
"""In the place of an image's benchmark: takes the same options, and exchanges as many numbers as a batch has images."""

import argparse
import socket
import time

from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--batch_size", type=int, required=True)
parser.add_argument("--variable_update", choices=["horovod"], required=True)
options = parser.parse_args()

world, steps, began = MPI.COMM_WORLD, 10, time.monotonic()
for step in range(steps):
    images = [world.rank + step] * options.batch_size
    total = sum(map(sum, world.allgather(images)))
    assert total == options.batch_size * (sum(range(world.size)) + world.size * step), total
images = steps * options.batch_size * world.size
print("rank", world.rank, "of", world.size, "on", socket.gethostname(), flush=True)
if world.rank == 0:
    print(f"{options.model}: total images/sec: {images / (time.monotonic() - began):.2f}", flush=True)
