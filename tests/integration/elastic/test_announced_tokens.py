# SPDX-License-Identifier: Apache-2.0
"""Agents that are started through kubexec: no secret ever stands on a command line or in an environment."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.elastic.launching import TRAINEE, Launch

pytestmark = pytest.mark.timeout(120)

KUBEXEC = """#!/bin/sh
set -x
echo "$@" >> {folder}/said
shift
sh -c "$*" < /dev/null | tee -a {folder}/printed
"""
LAUNCHER = """
import sys
from springtide.elastic.launcher import agent_commands, command
agent_commands.KUBEXEC = sys.argv[1]
del sys.argv[1:5]  # up to the name of the module
sys.exit(command.main())
"""


class Watcher:
    """Reads the command lines and environments of all processes, as often as it can."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                for name in ("cmdline", "environ"):
                    with suppress(OSError):
                        self.seen.add((process / name).read_bytes())

    def close(self) -> None:
        self._done.set()
        self._thread.join()


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    made.close()


def launched(folder: Path, script: str, *options: str) -> Launch:
    tool = folder / "kubexec.sh"
    tool.write_text(script.format(folder=folder))
    tool.chmod(0o755)
    program = (sys.executable, str(TRAINEE), str(folder / "done"))
    environment = {"OMPI_MCA_plm_rsh_agent": str(tool), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return Launch(folder, [*options, *program], environment, (sys.executable, "-c", LAUNCHER, str(tool)))


def test_no_token_is_seen_by_other_processes(tmp_path: Path, watcher: Watcher) -> None:
    run = launched(tmp_path, KUBEXEC, "-np", "4", "-H", "pod-a:2,pod-b:2")
    try:
        run.saw(r"generation 1 rank \d of 4", 4)
        assert run.finish() == 0, run.text
    finally:
        run.close()
    watcher.close()
    printed = (tmp_path / "printed").read_text()
    tokens = re.findall(r"\b[0-9a-f]{32}\b", printed)
    assert len(tokens) == len(set(tokens)) == 4
    everything = b"\n".join(watcher.seen)
    assert b"springtide.elastic.agent" in everything
    assert not [token for token in tokens if token.encode() in everything]
    assert not [token for token in tokens if token in run.text]
    assert "--announce-tokens" in (tmp_path / "said").read_text()


def test_a_token_that_comes_after_the_call_is_waited_for(tmp_path: Path) -> None:
    slow = KUBEXEC.replace("tee -a {folder}/printed", 'while read line; do sleep 1; echo "$line"; done')
    run = launched(tmp_path, slow, "-np", "2", "-H", "pod-a:2")
    try:
        run.saw(r"generation 1 rank \d of 2", 2)
        assert run.finish() == 0, run.text
    finally:
        run.close()


def test_an_agent_whose_token_never_comes_is_not_believed(tmp_path: Path) -> None:
    silent = KUBEXEC.replace("tee -a {folder}/printed", "grep -v tiderun-agent-tokens")
    run = launched(tmp_path, silent, "-np", "1", "-H", "pod-a", "--start-timeout", "8")
    try:
        assert run.ended() == 1
    finally:
        run.close()
    assert "generation 1" not in run.text
