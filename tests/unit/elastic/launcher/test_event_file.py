# SPDX-License-Identifier: Apache-2.0
"""Saving events never holds up the end of a run."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from springtide.elastic.launcher import event_file


def saved(path: Path, patience: float = 20.0) -> str:
    return asyncio.run(event_file.save(path, ["one", "two"], patience))


def test_lines_are_saved_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "events"
    assert saved(path) == f"the events of this run, for a report, are in {path}"
    assert path.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_earlier_log_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_text("of an earlier run, which was longer")
    saved(path)
    assert path.read_text() == "one\ntwo\n"


def test_a_fifo_is_refused_whether_anybody_reads_it_or_not(tmp_path: Path) -> None:
    path = tmp_path / "events"
    os.mkfifo(path)
    why = f"the events of this run cannot be saved: {path}: it is no regular file"
    assert saved(path) == why
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert saved(path) == why
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_a_file_system_that_hangs_is_waited_for_a_limited_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(event_file, "_write", lambda _path, _data: hangs.wait(60))
    began = time.monotonic()
    try:
        told = saved(tmp_path / "events", patience=0.2)
        assert told.endswith("events: its file system has not answered for 0.2 s")
        assert time.monotonic() - began < 10
        assert [each.daemon for each in threading.enumerate() if each.name == "tiderun-events"] == [True]
    finally:
        hangs.set()


def test_what_fails_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert saved(tmp_path / "file" / "x").startswith("the events of this run cannot be saved: ")
    assert saved(tmp_path).endswith(": Is a directory")
