# SPDX-License-Identifier: Apache-2.0
"""One of N peers that all listen on the same port: everybody asks everybody by name, then all of them by one service.

    exchange.py N PORT      JOB_COMPLETION_INDEX says who we are

A peer answers a number with its own index times that number, and ends when everybody has said that he is done.
"""

import os
import socket
import sys
import threading
import time

size, port = int(sys.argv[1]), int(sys.argv[2])
index = int(os.environ["JOB_COMPLETION_INDEX"])
done = threading.Semaphore(0)


def serve(listener: socket.socket) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=answer, args=(client,), daemon=True).start()


def answer(client: socket.socket) -> None:
    with client, client.makefile("rw") as lines:
        for line in lines:
            if line == "done\n":
                done.release()
            else:
                lines.write(f"{index} {index * int(line)}\n")
                lines.flush()


def ask(host: str, port: int, line: object) -> str:
    ends = time.monotonic() + 60
    while True:  # a peer may not have started yet
        try:
            with socket.create_connection((host, port), 5) as peer, peer.makefile("rw") as lines:
                lines.write(f"{line}\n")
                lines.flush()
                return lines.readline() if line != "done" else ""
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


listener = socket.create_server(("0.0.0.0", port), backlog=128)
threading.Thread(target=serve, args=(listener,), daemon=True).start()

total = 0
for other in range(size):
    who, product = ask(f"exchange-{other}.exchange", port, index).split()
    assert int(who) == other, (who, other)
    total += int(product)
assert total == index * sum(range(size)), total

seen = set()
for _ in range(3 * size):  # port 80 of one address leads to some peer's
    who, product = ask("front", 80, 7).split()
    assert int(product) == 7 * int(who)
    seen.add(int(who))

for other in range(size):
    ask(f"exchange-{other}.exchange", port, "done")
for _ in range(size):
    assert done.acquire(timeout=60)
print("peer", index, "total", total, "front", len(seen), flush=True)
