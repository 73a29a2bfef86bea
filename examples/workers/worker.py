# SPDX-License-Identifier: Apache-2.0
"""One of several workers that learn the same line, y = 3x - 2, each from points of its own.

    python worker.py FILE       # the file says how many steps, and may change meanwhile

They find each other by the name of their service and all listen on the same port. After every step a worker takes the
mean of its parameters and those of its peers. One that comes later begins with what the others have learnt, so workers
may come and go at any moment. Standard library only: it runs in any image with Python, on any cluster.
"""

from __future__ import annotations

import json
import os
import random
import socket
import socketserver
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

SERVICE, PORT = "workers", 23456
SPEAK = 8
"""Once in so many steps."""
PAUSE = 0.15
"""Seconds; so that one can watch."""
RATE = 0.3
OWN = os.environ.get("POD_IP") or socket.gethostbyname(socket.gethostname())


class Learnt(NamedTuple):
    step: int
    slope: float
    offset: float


class Worker:
    def __init__(self) -> None:
        self._random = random.Random(OWN)
        self.learnt = Learnt(0, self._random.uniform(-9, 9), self._random.uniform(-9, 9))

    def serve(self) -> None:
        """Tell whoever asks what was learnt so far."""
        worker = self

        class Answer(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(json.dumps(worker.learnt).encode())

        socketserver.ThreadingTCPServer.daemon_threads = True
        server = socketserver.ThreadingTCPServer((OWN, PORT), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def join(self) -> None:
        others = heard()
        if others and max(others).step:
            self.learnt = max(others)
            print(f"joins at step {self.learnt.step} and goes on from what the others have learnt", flush=True)

    def step(self) -> int:
        """One step down the slope of the error, then the mean with the others. How many they are."""
        step, slope, offset = self.learnt
        points = [self._random.uniform(-1, 1) for _ in range(16)]
        errors = [slope * x + offset - (3 * x - 2) for x in points]
        slope -= 2 * RATE * sum(error * x for error, x in zip(errors, points, strict=True)) / len(points)
        offset -= 2 * RATE * sum(errors) / len(points)
        others = heard()
        everybody = [Learnt(step, slope, offset), *others]
        slope = sum(one.slope for one in everybody) / len(everybody)
        offset = sum(one.offset for one in everybody) / len(everybody)
        self.learnt = Learnt(step + 1, slope, offset)
        return len(others)


def heard() -> list[Learnt]:
    """What the others have learnt, as far as they can be found and answer."""
    try:
        found = socket.getaddrinfo(SERVICE, PORT, socket.AF_INET, socket.SOCK_STREAM)
    except socket.gaierror:
        return []
    answers = []
    for address in {str(entry[4][0]) for entry in found} - {OWN}:
        try:
            with socket.create_connection((address, PORT), timeout=0.5) as peer, peer.makefile() as answer:
                answers.append(Learnt(*json.loads(answer.read())))
        except (OSError, ValueError):
            continue  # just starting, or gone
    return answers


def main() -> None:
    worker = Worker()
    worker.join()
    worker.serve()  # not before: the others shall not hear of the guesses it begins with
    while worker.learnt.step < int(Path(sys.argv[1]).read_text()):
        time.sleep(PAUSE)
        peers = worker.step()
        step, slope, offset = worker.learnt
        if step % SPEAK == 0:
            print(f"step {step:3}  y = {slope:5.2f} x {offset:+5.2f}  peers: {peers}", flush=True)


if __name__ == "__main__":
    main()
