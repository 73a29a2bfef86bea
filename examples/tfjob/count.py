# SPDX-License-Identifier: Apache-2.0
"""Workers that count to a goal on a parameter server, which they find by TF_CONFIG. Needs no TensorFlow.

The parameter server adds up what the workers send and answers with the total. It never ends, as TensorFlow's.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import sys
import time

CONFIG = json.loads(os.environ["TF_CONFIG"])
TASK = CONFIG["task"]
ME = f"{TASK['type']} {TASK['index']}"


class Counter(socketserver.StreamRequestHandler):
    total = 0

    def handle(self) -> None:
        for line in self.rfile:
            Counter.total += int(line)
            self.wfile.write(f"{Counter.total}\n".encode())


def serve(port: int) -> None:
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    with socketserver.ThreadingTCPServer(("", port), Counter) as server:
        server.serve_forever()


def connected(host: str, port: int) -> socket.socket:
    """The name may resolve before the parameter server listens."""
    while True:
        try:
            return socket.create_connection((host, port), timeout=5)
        except OSError as error:
            print(f"{ME}: waiting for {host}: {error}", flush=True)
            time.sleep(0.5)


def count(host: str, port: int, goal: int) -> None:
    total = 0
    with connected(host, port) as server, server.makefile("rw") as lines:
        while total < goal:
            print(1, file=lines, flush=True)
            total = int(lines.readline())
            time.sleep(0.2)
    print(f"{ME}: {total} of {goal} counted", flush=True)


def main() -> None:
    host, _, port = CONFIG["cluster"]["ps"][0].rpartition(":")
    print(f"{ME}: the parameter server is {host}", flush=True)
    if TASK["type"] == "ps":
        serve(int(port))
    else:
        count(host, int(port), int(sys.argv[1]))


main()
