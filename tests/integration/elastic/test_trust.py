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
from tests.integration.elastic.launching import TRAINEE, Launch, alive, parent, until

from springtide.elastic import wire
from springtide.elastic.wire import Caller

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
    overheard.saw(r"\[0\] on elsewhere is not to be trusted: somebody else knows the token of its agent")
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
        assert run.finish() == 0
        assert "Too many open files" not in run.text


def test_ranks_may_open_as_many_files_as_without_a_launcher(tmp_path: Path) -> None:
    few = ("sh", "-c", 'ulimit -S -n 200; exec "$@"', "sh")
    with closing(Launch(tmp_path, ["-np", "1", "sh", "-c", "ulimit -S -n"], inside=few)) as run:
        assert run.ended() == 0
    assert "[0]<stdout>:200" in run.lines
