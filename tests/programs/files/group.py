# SPDX-License-Identifier: Apache-2.0
"""A replica of a small training group, with the ports that everybody uses.

Replica 0 listens on MASTER_PORT, takes a number of every replica and tells all of them the sum. Then every replica
listens on 2222 and a token goes around once, by the replicas' names.
"""

import os
import socket
import time

rank, size = int(os.environ["JOB_COMPLETION_INDEX"]), int(os.environ["WORLD_SIZE"])
name, gift = os.environ["GROUP"], int(os.environ["GIFT"])
master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def dial(address: tuple[str, int]) -> socket.socket:
    ends = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(address, 5)
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


def lead() -> int:
    with socket.create_server(("0.0.0.0", master[1])) as listener:
        others = [listener.accept()[0] for _ in range(size - 1)]
    files = [other.makefile("rw") for other in others]
    words = [file.readline().split() for file in files]
    assert {group for group, _ in words} <= {name}, words
    total = gift + sum(int(number) for _, number in words)
    for file in files:
        file.write(f"{total}\n")
        file.flush()
    return total


def follow() -> int:
    with dial(master) as leader, leader.makefile("rw") as file:
        file.write(f"{name} {gift}\n")
        file.flush()
        return int(file.readline())


def send(token: str) -> None:
    with dial((f"{name}-{(rank + 1) % size}.{name}", 2222)) as peer:
        peer.sendall(f"{token}\n".encode())


ring = socket.create_server(("0.0.0.0", 2222))
total = follow() if rank else lead()
if rank == 0:
    send(name)
received = ring.accept()[0].makefile().readline().strip()
if rank:
    send(f"{received}-{rank}")
print("replica", rank, "total", total, "token", received, flush=True)
