# SPDX-License-Identifier: Apache-2.0
"""A real run that fails leaves its events, and they lead through the same decisions again."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Elastic, Launch

from springtide.elastic.launcher.state_machine.replay import replay

pytestmark = pytest.mark.timeout(120)
HOSTS = "127.0.0.1:1 127.0.0.2:1"


def check(path: Path, exit_code: int) -> None:
    run_state, steps = replay(path.read_text().splitlines())
    assert steps
    assert [step.found for step in steps] == [step.recorded.actions for step in steps]
    assert run_state.exit_code == exit_code


def ended(folder: Path, *arguments: str, **environment: str) -> Launch:
    run = Launch(folder, arguments, environment)
    try:
        run.ended()
    finally:
        run.close()
    return run


def test_a_run_that_fails_leaves_its_events(tmp_path: Path) -> None:
    """Through joining, a death and the wait for another rank."""
    events = tmp_path / "deep" / "events"
    options = ("-np", "2", "--min-np", "2", "--elastic-timeout", "2", "--blacklist-cooldown-range", "60", "60")
    run = Elastic(tmp_path, HOSTS, *options, environment={"TIDE_EVENT_LOG": str(events)})
    try:
        run.saw('"size":2')
        os.kill(run.pids()[1], signal.SIGKILL)
        code = run.ended()
    finally:
        run.close()
    assert code
    assert f"tiderun: the events of this run, for a report, are in {events}" in run.lines
    assert stat.S_IMODE(events.stat().st_mode) == 0o600
    check(events, code)


def test_events_lie_beside_what_ranks_print(tmp_path: Path) -> None:
    run = ended(
        tmp_path, "-np", "2", "--output-filename", str(tmp_path / "logs"), "sh", "-c", "exit $((3 + TIDE_SLOT))"
    )
    assert run.process.returncode in (3, 4)
    check(tmp_path / "logs" / "events.jsonl", run.process.returncode)


def test_without_a_file_a_run_that_fails_names_the_variable_before_it_explains_the_failure(tmp_path: Path) -> None:
    run = ended(tmp_path, "-np", "1", "sh", "-c", "echo wrong; exit 3")
    hint = "tiderun: the events of this run are not saved; to save those of the next, set TIDE_EVENT_LOG=FILE"
    first = "tiderun: first failure: [0] on localhost exited with code 3; last lines of its output:"
    assert run.lines.index(hint) + 1 == run.lines.index(first)
    assert not [line for line in ended(tmp_path, "-np", "1", "true").lines if "TIDE_EVENT_LOG" in line]


def test_a_run_that_succeeds_leaves_none(tmp_path: Path) -> None:
    assert ended(tmp_path, "-np", "1", "--output-filename", str(tmp_path / "logs"), "true").process.returncode == 0
    assert not (tmp_path / "logs" / "events.jsonl").exists()


def test_where_events_cannot_be_saved_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run = ended(tmp_path, "-np", "1", sys.executable, "-c", "raise SystemExit(1)", TIDE_EVENT_LOG=f"{tmp_path}/file/x")
    assert run.process.returncode == 1
    assert "the events of this run cannot be saved" in run.text


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")], ids=["FIFO", "device"])
def test_a_run_ends_where_its_events_would_go_to_something_else_than_a_file(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    events = tmp_path / "events"
    make(events)
    run = ended(tmp_path, "-np", "1", "sh", "-c", "exit 3", TIDE_EVENT_LOG=str(events))
    assert run.process.returncode == 3
    assert f"tiderun: the events of this run cannot be saved: {events}: it is no regular file" in run.lines
