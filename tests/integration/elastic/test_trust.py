# SPDX-License-Identifier: Apache-2.0
"""Whom a run believes, and what others can learn of it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests import hostile
from tests.integration.elastic.launching import TRAINEE, Launch, alive, parent, until

from springtide.elastic.protocol import wire
from springtide.elastic.protocol.wire import Caller

pytestmark = pytest.mark.timeout(120)
_SSH = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift 2; done
read token
echo "$token" > {folder}/token
echo "$token" | sh -c "$2"
"""


@pytest.fixture
def overheard(tmp_path: Path) -> Iterator[Launch]:
    """A run whose only rank was started over an ssh that does not keep its token to itself."""
    tool = tmp_path / "bin" / "ssh"
    tool.parent.mkdir()
    tool.write_text(_SSH.format(folder=tmp_path))
    tool.chmod(0o755)
    path = f"{tool.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = (sys.executable, str(TRAINEE), str(tmp_path / "done"))
    run = Launch(tmp_path, ["-np", "1", "-H", "elsewhere", *program], {"PATH": path})
    yield run
    run.close()


def door(run: Launch) -> tuple[str, int]:
    words = Path(f"/proc/{parent(run.pids()[0])}/cmdline").read_text().split("\0")
    address, _, port = words[words.index("--connect") + 1].split(",")[0].rpartition(":")
    return address, int(port)


def test_a_rank_whose_token_somebody_else_knows_is_ended(overheard: Launch, tmp_path: Path) -> None:
    overheard.saw("generation 1 rank 0 of 1")
    pid = overheard.pids()[0]
    token = (tmp_path / "token").read_bytes().strip()
    with socket.create_connection(door(overheard), timeout=10) as connection:
        wire.call(connection, Caller.AGENT, 0, token)
        assert connection.recv(1) == b""
    overheard.saw(r"\[0\] on elsewhere is rejected: the token of its agent was used twice")
    assert overheard.ended() == 1
    until(lambda: not alive(pid), "its process is gone")


def test_those_who_call_and_say_nothing_do_not_use_up_the_launcher(tmp_path: Path) -> None:
    few = ("sh", "-c", 'ulimit -n 256; exec "$@"', "sh")
    program = (sys.executable, str(TRAINEE), str(tmp_path / "done"))
    run = Launch(tmp_path, ["-np", "1", *program], inside=few)
    with ExitStack() as open_ones:
        open_ones.callback(run.close)
        run.saw("generation 1 rank 0 of 1")
        at = door(run)
        callers = [open_ones.enter_context(socket.create_connection(at, timeout=10)) for _ in range(300)]
        for caller in callers[:150]:
            assert caller.recv(1) == b""
        assert run.finish() == 0, run.text
        assert "Too many open files" not in run.text


def test_no_bytes_of_a_stranger_end_a_run(tmp_path: Path) -> None:
    program = (sys.executable, str(TRAINEE), str(tmp_path / "done"))
    with closing(Launch(tmp_path, ["-np", "2", *program])) as run:
        run.saw(r"generation 1 rank \d of 2", 2)
        for line in (*hostile.LINES.values(), wire.MAGIC + b"a" + bytes(40), wire.MAGIC + b"r" + b"\xff" * 40):
            with socket.create_connection(door(run), timeout=10) as connection:
                hostile.sent(connection, line)
        assert run.finish() == 0, run.text
        assert "Traceback" not in run.text


ROGUE = """
import os, socket, sys
from springtide.elastic.protocol import wire
from springtide.elastic.ranks.session import Place
from tests import hostile
place = Place.read(os.environ)
requests = [
    {"type": "join", "addresses": [["127.0.0.1", 1]], "pid": 1},
    {"type": "at", "generation": 1, "boundary": 1, "commit": 1},
    {"type": "entered", "generation": 1},
    {"type": "trouble", "generation": 1, "commit": 0},
    {"type": "unreachable", "generation": 1, "id": 99},
    {"type": "progress", "step": 1},
]
heads = [*hostile.LINES.values(), *(line for request in requests for line in hostile.malformed(request))]
frames = [len(head).to_bytes(4, "big") + bytes(8) + head for head in heads]
for frame in (*frames, bytes(4) + b"\\xff" * 8, b"\\xff" * 12):
    connection = socket.create_connection(place.coordinators[0])
    wire.call(connection, wire.Caller.RANK, place.worker, place.secret)
    connection.settimeout(0.2)
    connection.sendall(frame)
    connection.shutdown(socket.SHUT_WR)
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass
    connection.close()
print("said all", flush=True)
sys.exit(3)
"""


def test_no_frame_of_a_rank_ends_the_launcher_by_surprise(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    with closing(Launch(tmp_path, ["-np", "1", sys.executable, "-c", ROGUE], {"PYTHONPATH": root})) as run:
        assert run.ended() == 3, run.text
        assert "[0]<stdout>:said all" in run.lines
        assert "Traceback" not in run.text


def test_ranks_may_open_as_many_files_as_without_a_launcher(tmp_path: Path) -> None:
    few = ("sh", "-c", 'ulimit -S -n 200; exec "$@"', "sh")
    with closing(Launch(tmp_path, ["-np", "1", "sh", "-c", "ulimit -S -n"], inside=few)) as run:
        assert run.ended() == 0
    assert "[0]<stdout>:200" in run.lines
