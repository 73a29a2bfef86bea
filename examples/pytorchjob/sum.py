# SPDX-License-Identifier: Apache-2.0
"""Adds up the ranks of all replicas at their master, which they find by MASTER_ADDR. Needs no PyTorch."""

from __future__ import annotations

import os
import socket

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MASTER = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def lead() -> int:
    """The master takes a connection from every worker, and answers all of them with the sum."""
    with socket.create_server(("", MASTER[1])) as server:
        workers = [server.accept()[0] for _ in range(WORLD_SIZE - 1)]
    total = RANK + sum(int(worker.recv(64)) for worker in workers)
    for worker in workers:
        worker.sendall(b"%d" % total)
        worker.close()
    return total


def follow() -> int:
    with socket.create_connection(MASTER, timeout=60) as master:
        master.sendall(b"%d" % RANK)
        return int(master.recv(64))


total = lead() if RANK == 0 else follow()
print(f"rank {RANK} of {WORLD_SIZE}: the sum of all ranks is {total}", flush=True)
assert total == sum(range(WORLD_SIZE))
