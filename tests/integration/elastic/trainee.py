# SPDX-License-Identifier: Apache-2.0
"""A rank that only speaks: it joins, keeps to boundaries, switches and regroups as it is told, and trains nothing.

It goes on until a file appears. What it does is printed, for tests to read:

    pid 123
    generation 2 rank 0 of 3
    finished
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from typing import Any

from springtide.elastic.protocol import wire

STEP = 0.02


class Trainee:
    def __init__(self, done: str) -> None:
        self.id = int(os.environ["TIDE_WORKER"])
        host, _, port = os.environ["TIDE_COORDINATOR"].split(",")[0].rpartition(":")
        with open(int(os.environ["TIDE_SECRET_FD"]), "rb") as pipe:
            secret = pipe.read()
        self.link = socket.create_connection((host, int(port)))
        wire.call(self.link, wire.Caller.RANK, self.id, secret)
        self.done = done
        self.boundary = 0
        self.generation = 0
        self.prepared: dict[str, Any] | None = None
        self.answered: int | None = None
        self.switch: dict[str, Any] | None = None

    def say(self, type_: str, **words: Any) -> None:
        self.link.sendall(wire.encode(type_, **words))

    def train(self) -> None:
        self.say("join", addresses=[["127.0.0.1", 1]], pid=os.getpid())
        print(f"pid {os.getpid()} worker {self.id}", flush=True)
        while not (self.generation and os.path.exists(self.done)):
            self.listen(STEP)
            self.say("beat")
            if self.generation:
                self.stand()
        self.say("finished")
        print("finished", flush=True)

    def listen(self, patience: float) -> None:
        until = time.monotonic() + patience
        while select.select([self.link], [], [], max(until - time.monotonic(), 0))[0]:
            frame = wire.receive(self.link)
            self.hear(frame.type, dict(frame.head))

    def hear(self, type_: str, words: dict[str, Any]) -> None:
        if type_ == "prepare":
            self.prepared, self.answered, self.switch = words, None, None
        elif type_ == "cancel":
            self.prepared = None
        elif type_ == "switch":
            self.switch = words
            if not self.generation:
                self.boundary = words["boundary"]
                self.enter(words["generation"], self.prepared or {})
        elif type_ == "regroup":
            self.enter(words["generation"], words)
        elif type_ == "bye":
            sys.exit(0)

    def stand(self) -> None:
        """At a boundary: go to the next, unless we have to wait here, or change groups."""
        if self.prepared is not None and self.answered is None:
            self.answered = self.boundary
            generation = self.prepared["generation"]
            self.say("at", generation=generation, boundary=self.boundary, commit=self.boundary)
        if self.switch is not None and self.switch["boundary"] == self.boundary:
            self.enter(self.switch["generation"], self.prepared or {})
        elif self.switch is not None or self.answered is None or self.boundary <= self.answered:
            self.boundary += 1

    def enter(self, generation: int, described: dict[str, Any]) -> None:
        members = {member[0]: member[1] for member in described["members"]}
        self.prepared = self.answered = self.switch = None
        if self.id not in members:
            self.say("left")
            print("left", flush=True)
            sys.exit(0)
        self.generation = generation
        self.say("entered", generation=generation)
        self.say("progress", step=self.boundary, loss=0.5)
        print(f"generation {generation} rank {members[self.id]} of {len(members)}", flush=True)


if __name__ == "__main__":
    Trainee(sys.argv[1]).train()
