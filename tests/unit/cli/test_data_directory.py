# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from springtide.local.datadir import Card, DataDir, InUseError


def test_looking_makes_nothing(tmp_path: Path) -> None:
    place = DataDir(tmp_path / "cluster")
    assert not place.is_running()
    assert place.process() is None
    assert place.last() is None
    assert not place.path.exists()


def test_one_server_at_a_time(tmp_path: Path) -> None:
    first, second = DataDir(tmp_path), DataDir(tmp_path)
    first.acquire()
    assert second.is_running()
    assert second.process() == os.getpid()
    with pytest.raises(InUseError):
        second.acquire()
    first.release()
    assert not second.is_running()
    second.acquire()
    second.release()


def test_the_lock_goes_with_the_process_however_it_ends(tmp_path: Path) -> None:
    script = (
        "import os, pathlib; from springtide.local.datadir import DataDir\n"
        f"DataDir(pathlib.Path({str(tmp_path)!r})).acquire()\nos.abort()"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30)
    assert (tmp_path / "lock").read_text()
    assert DataDir(tmp_path).process() is None


def test_it_remembers_name_and_port(tmp_path: Path) -> None:
    DataDir(tmp_path).describe("second", 7)
    assert DataDir(tmp_path).last() == Card("second", 7)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": "x", "port": "y"}', "\x00"])
def test_a_damaged_note_is_as_good_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "cluster.json").write_text(content)
    assert DataDir(tmp_path).last() is None


def test_a_lock_can_be_left_to_a_child_that_knows_nothing_of_it(tmp_path: Path) -> None:
    place, seen = DataDir(tmp_path), DataDir(tmp_path)
    lock = place.operator_lock
    lock.acquire(0.0, unsigned=True)
    assert seen.operator_process() is None
    waiting = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, pass_fds=(lock.fileno(),)) as child:
        lock.leave_to(child.pid)
        assert place.operator_process() == seen.operator_process() == child.pid
        child.kill()
    assert seen.operator_process() is None
