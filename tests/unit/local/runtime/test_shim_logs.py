# SPDX-License-Identifier: Apache-2.0
"""Log lines as container runtimes write them, and a log file that loses nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from springtide.local.runtime.shim import logs

LIMIT = logs.LINE_LIMIT


def test_complete_lines_are_written_and_the_rest_waits() -> None:
    assert logs.log_lines(b"T stdout", b"one\n\ntwo\nthr", False) == (
        b"T stdout F one\nT stdout F \nT stdout F two\n",
        b"thr",
    )


def test_what_has_no_line_break_at_the_end_gets_none() -> None:
    assert logs.log_lines(b"T stdout", b"three", True) == (b"T stdout P three\n", b"")
    assert logs.log_lines(b"T stdout", b"", True) == (b"", b"")


@pytest.mark.parametrize(
    ("length", "ended", "marks"),
    [
        (LIMIT, True, "F"),
        (LIMIT + 1, True, "PF"),
        (3 * LIMIT, True, "PPF"),
        (LIMIT, False, ""),
        (LIMIT + 1, False, "P"),
    ],
)
def test_long_lines_come_in_parts(length: int, ended: bool, marks: str) -> None:
    text, rest = logs.log_lines(b"T s", b"x" * length + b"\n" * ended, False)
    assert "".join(line.split(b" ")[2].decode() for line in text.splitlines()) == marks
    assert len(rest) == (0 if ended else length - LIMIT * len(marks))


@given(some.lists(some.binary(max_size=50)), some.integers(1, 40))
def test_whatever_the_chunks_the_text_is_the_same(pieces: list[bytes], limit: int) -> None:
    rest, written = b"", b""
    for data in [*(piece for piece in pieces if piece), b""]:
        text, rest = logs.log_lines(b"T s", rest + data, not data)
        written += text
    again = b"".join(line[6:] + (b"\n" if line[4:5] == b"F" else b"") for line in written.split(b"\n")[:-1])
    assert again == b"".join(pieces)


def test_stamps_have_nanoseconds() -> None:
    assert logs.stamp(1_700_000_000_000_000_001) == b"2023-11-14T22:13:20.000000001Z"


def a_log(tmp_path: Path) -> logs.Log:
    return logs.Log(str(tmp_path / "logs" / "0.log"))


def texts(tmp_path: Path) -> list[str]:
    files = sorted((tmp_path / "logs").glob("0.log.*"))
    lines = [line for file in (*files, tmp_path / "logs" / "0.log") for line in file.read_text().splitlines()]
    return [line.split(" ", 3)[3] for line in lines]


def test_streams_do_not_mix_their_unfinished_lines(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for stream, data in (("stdout", b"a"), ("stderr", b"b"), ("stdout", b"A\n"), ("stderr", b"B\n")):
        assert log.feed(stream, data)
    assert texts(tmp_path) == ["aA", "bB"]


def test_a_log_is_rotated_and_five_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LOG_SIZE", 100)
    log = a_log(tmp_path)
    for number in range(20):
        log.feed("stdout", b"%060d\n" % number)
    assert len(list((tmp_path / "logs").iterdir())) == 5
    assert [int(text) for text in texts(tmp_path)] == list(range(12, 20)) or len(texts(tmp_path)) <= 10
    assert int(texts(tmp_path)[-1]) == 19


def test_an_attempt_that_goes_on_appends(tmp_path: Path) -> None:
    a_log(tmp_path).feed("stdout", b"one\n")
    a_log(tmp_path).feed("stdout", b"two\n")
    assert texts(tmp_path) == ["one", "two"]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = a_log(tmp_path)
    write = os.write

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def nearly_full(fd: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", full)
        return write(fd, data[:10])

    monkeypatch.setattr(os, "write", nearly_full)
    assert not log.feed("stdout", b"one\ntwo\n")
    assert "no space left on device" in log.trouble
    assert not log.flush()
    monkeypatch.setattr(os, "write", write)
    assert log.flush()
    assert log.trouble == ""
    assert texts(tmp_path) == ["one", "two"]


@pytest.mark.parametrize("cut", range(1, 45))
def test_the_next_writer_mends_what_a_killed_one_left_half_written(tmp_path: Path, cut: int) -> None:
    a_log(tmp_path).feed("stdout", b"one\ntwo\n")
    path = tmp_path / "logs" / "0.log"
    os.truncate(path, path.stat().st_size - cut)
    a_log(tmp_path).feed("stdout", b"three\n")
    assert texts(tmp_path) == ["one", "three"]


def test_a_log_that_nobody_writes_any_more_is_mended_by_name(tmp_path: Path) -> None:
    a_log(tmp_path).feed("stdout", b"one\n" + b"x" * 3 * LIMIT + b"\n")
    path = tmp_path / "logs" / "0.log"
    whole = path.read_bytes()
    logs.mend(str(path))
    assert path.read_bytes() == whole
    path.write_bytes(whole + whole[: LIMIT // 2].replace(b"\n", b" "))
    logs.mend(str(path))
    assert path.read_bytes() == whole
    path.write_bytes(b"2026-11-16T04:30")
    logs.mend(str(path))
    assert path.read_bytes() == b""
    logs.mend(str(tmp_path / "none.log"))
