# SPDX-License-Identifier: Apache-2.0
"""An agent and a launcher that is slow, or silent."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.integration.elastic.launching import alive, until

from springtide.elastic.protocol import wire

pytestmark = pytest.mark.timeout(120)


class Launcher:
    """As far as an agent can tell."""

    def __init__(self, program: str) -> None:
        token = secrets.token_hex(16)
        with socket.socket() as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # little is on its way at a time
            door.bind(("127.0.0.1", 0))
            door.listen()
            call = ("--connect", f"127.0.0.1:{door.getsockname()[1]}", "--workers", "0")
            command = [sys.executable, "-P", "-m", "springtide.elastic.agent", *call]
            self.agent = subprocess.Popen(command, stdin=subprocess.PIPE)
            assert self.agent.stdin is not None
            self.agent.stdin.write(f"{token}\n".encode())
            self.agent.stdin.close()
            self.connection, _ = door.accept()
        opening = wire.Opening.read(wire.receive_exactly(self.connection, wire.OPENING_SIZE))
        bond = wire.Bond(opening, secrets.token_bytes(wire.NONCE), token.encode())
        self.connection.sendall(bond.reply)
        bond.check(b"caller", wire.receive_exactly(self.connection, wire.PROOF))
        welcome = {"argv": ["sh", "-c", program], "env": {}, "cwd": "/", "secret": bytes(32).hex()}
        self.connection.sendall(wire.encode("welcome", bond.seal(json.dumps(welcome).encode())))

    def say(self, type_: str) -> None:
        with suppress(OSError):
            self.connection.sendall(wire.encode(type_))

    def heard(self) -> list[wire.Frame]:
        """All that it says to its end."""
        frames = []
        with suppress(EOFError, ConnectionError):
            while True:
                frames.append(wire.receive(self.connection))
        return frames

    def close(self) -> None:
        self.connection.close()
        self.agent.kill()
        self.agent.wait()


@pytest.fixture
def launchers() -> Iterator[list[Launcher]]:
    made: list[Launcher] = []
    yield made
    for each in made:
        each.close()


def test_the_last_words_come_however_late_they_are_heard(launchers: list[Launcher]) -> None:
    launchers.append(launcher := Launcher("head -c 200000 /dev/zero; exit 7"))
    for _ in range(6):
        time.sleep(0.2)
        launcher.say("beat")
    frames = launcher.heard()
    assert sum(len(frame.payload) for frame in frames if frame.type == "output") == 200000
    assert [frame.head["code"] for frame in frames if frame.type == "exited"] == [7]
    launcher.connection.close()
    assert launcher.agent.wait(60) == 7


def test_a_rank_that_does_not_want_to_end_does_so_when_nothing_is_heard_of_the_launcher(
    launchers: list[Launcher],
) -> None:
    launchers.append(launcher := Launcher("trap '' TERM; echo $$; while :; do sleep 1; done"))
    rank = 0
    while not rank:
        frame = wire.receive(launcher.connection)
        rank = int(frame.payload) if frame.type == "output" else 0
    until(lambda: not alive(rank), "the rank has ended")
    assert launcher.agent.wait(60) == 137


def test_a_launcher_that_dies_before_it_has_said_anything_is_no_reason_to_raise() -> None:
    command = [sys.executable, "-m", "springtide.elastic.agent", "--connect", "127.0.0.1:1", "--workers", "3,4"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (1, "the launcher is gone: there was no token on standard input\n")
