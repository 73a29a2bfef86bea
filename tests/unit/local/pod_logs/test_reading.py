# SPDX-License-Identifier: Apache-2.0
"""Records to text: tails, limits, rotation, halves of lines. The files are real, the shim is not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from springtide.local.pod_logs import reading as logs
from springtide.local.pod_logs.reading import AttemptLog, Options, Shaper, tail_start


def stamp(second: int) -> str:
    return f"2026-11-16T04:30:{second:02}.000000001Z"


def record(second: int, text: str, stream: str = "stdout", tag: str = "F") -> bytes:
    return f"{stamp(second)} {stream} {tag} {text}\n".encode()


def shaped(data: bytes, **options: object) -> bytes:
    shaper = Shaper(Options(**options))  # type: ignore[arg-type]
    return shaper.feed(data) + shaper.end()


THREE = record(1, "one") + record(2, "two", "stderr") + record(3, "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, b"one\ntwo\n\n"),
        ({"timestamps": True}, f"{stamp(1)} one\n{stamp(2)} two\n{stamp(3)} \n".encode()),
        ({"since": stamp(2)}, b"two\n\n"),
        ({"stream": "stderr"}, b"two\n"),
        ({"stream": "stdout"}, b"one\n\n"),
        ({"limit": 5}, b"one\nt"),
        ({"limit": 4}, b"one\n"),
        ({"limit": 40}, b"one\ntwo\n\n"),
        ({"limit": 3, "stream": "stderr"}, b"two"),
    ],
    ids=str,
)
def test_options_shape_the_text(options: dict[str, object], expected: bytes) -> None:
    assert shaped(THREE, **options) == expected


@pytest.mark.parametrize("size", [1, 7, 41, 1000])
def test_it_does_not_matter_how_the_bytes_come(size: int) -> None:
    shaper = Shaper(Options())
    pieces = [THREE[start : start + size] for start in range(0, len(THREE), size)]
    assert b"".join(map(shaper.feed, pieces)) + shaper.end() == b"one\ntwo\n\n"


def test_the_parts_of_a_line_are_joined_even_when_the_other_stream_comes_between() -> None:
    data = record(1, "lo", tag="P") + record(2, "warning", "stderr") + record(3, "ng", tag="P") + record(4, "er")
    assert shaped(data) == b"warning\nlonger\n"
    assert shaped(data, timestamps=True).endswith(f"{stamp(1)} longer\n".encode())


def test_a_line_is_as_old_as_its_beginning() -> None:
    data = record(1, "be", tag="P") + record(3, "gun") + record(3, "new")
    assert shaped(data, since=stamp(2)) == b"new\n"


def test_a_line_without_an_end_is_shown_at_the_end() -> None:
    assert shaped(record(1, "prompt> ", tag="P"), timestamps=True) == f"{stamp(1)} prompt> ".encode()


def test_a_line_that_never_ends_is_not_held_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_HELD", 8)
    shaper = Shaper(Options(timestamps=True))
    assert shaper.feed(record(1, "0123456", tag="P")) == b""
    assert shaper.feed(record(2, "789", tag="P")) == f"{stamp(1)} 0123456789".encode()
    assert shaper.feed(record(3, "end")) == b"end\n"


def test_half_a_record_is_not_shown() -> None:
    assert shaped(THREE[:-10]) == b"one\ntwo\n"


def test_what_is_no_record_is_passed_over() -> None:
    assert shaped(b"\nnonsense\n" + THREE) == b"one\ntwo\n\n"


class Attempt:
    """The files of an attempt, as a shim writes and rotates them."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.rotations = directory, 0
        self.live.touch()

    @property
    def live(self) -> Path:
        return self.directory / "0.log"

    def files(self) -> list[Path]:
        return logs.files_of(self.directory, 0)

    def write(self, data: bytes) -> None:
        with self.live.open("ab") as file:
            file.write(data)

    def rotate(self, keep: int = 9) -> None:
        self.rotations += 1
        os.replace(self.live, self.directory / f"0.log.{self.rotations:03}")
        self.live.touch()
        for old in self.files()[:-keep]:
            old.unlink()


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(tmp_path)


Open = Callable[..., AttemptLog]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Makes tapes, and closes them afterwards."""
    with ExitStack() as stack:
        yield lambda files, tail=None: stack.enter_context(closing(AttemptLog(files, tail)))


def everything(attempt_log: AttemptLog) -> bytes:
    read = b""
    while data := attempt_log.read():
        read += data
    return read


def test_rotated_files_come_first(attempt: Attempt, opened: Open) -> None:
    for part in (b"a", b"b", b"c"):
        attempt.write(part)
        attempt.rotate()
    attempt.write(b"d")
    assert everything(opened(attempt.files)) == b"abcd"


def test_reading_goes_on_across_rotations(attempt: Attempt, opened: Open) -> None:
    attempt_log = opened(attempt.files)
    attempt.write(b"a")
    assert everything(attempt_log) == b"a"
    attempt.write(b"b")
    attempt.rotate()
    attempt.write(b"c")
    attempt.rotate()
    attempt.write(b"d")
    assert everything(attempt_log) == b"bcd"
    attempt.rotate()
    assert everything(attempt_log) == b""
    attempt.write(b"e")
    assert everything(attempt_log) == b"e"


def test_reading_goes_on_when_the_next_file_is_late(attempt: Attempt, opened: Open) -> None:
    attempt_log = opened(attempt.files)
    attempt.write(b"a")
    attempt.live.rename(attempt.directory / "0.log.001")
    assert everything(attempt_log) == b"a"
    attempt.write(b"b")
    assert everything(attempt_log) == b"b"


def test_attempts_are_kept_apart(tmp_path: Path) -> None:
    for name in ("1.log", "10.log", "1.log.2", "1.log.1", "0.log"):
        (tmp_path / name).touch()
    assert [path.name for path in logs.files_of(tmp_path, 1)] == ["1.log.1", "1.log.2", "1.log"]
    assert logs.files_of(tmp_path / "absent", 0) == []


def test_files_that_were_deleted_meanwhile_are_skipped(attempt: Attempt, opened: Open) -> None:
    attempt_log = opened(attempt.files)
    for part in (b"a", b"b", b"c", b"d"):
        attempt.write(part)
        attempt.rotate(keep=3)
    assert everything(attempt_log) == b"acd"  # the file at hand can be read to its end; the one after it is gone


def test_a_log_that_is_not_there_yet_is_empty_and_then_read(tmp_path: Path, opened: Open) -> None:
    attempt_log = opened(lambda: logs.files_of(tmp_path, 0))
    assert attempt_log.read() == b""
    (tmp_path / "0.log").write_bytes(b"a")
    assert attempt_log.read() == b"a"


@pytest.mark.parametrize("size", [50, 64, 4096])
@pytest.mark.parametrize("lines", [0, 1, 2, 5, 10, 11])
def test_a_tail_is_found_backwards(
    attempt: Attempt, lines: int, size: int, monkeypatch: pytest.MonkeyPatch, opened: Open
) -> None:
    monkeypatch.setattr(logs, "CHUNK", size)
    for number in range(10):
        attempt.write(record(number, "part of ", tag="P") + record(number, f"line {number}"))
        if number % 4 == 3:
            attempt.rotate()
    attempt.write(record(11, "torn")[:-5])
    expected = b"".join(b"part of line %d\n" % number for number in range(max(0, 10 - lines), 10))
    assert shaped(everything(opened(attempt.files, tail=lines))) == expected


def test_an_unfinished_line_counts_as_the_last(attempt: Attempt, opened: Open) -> None:
    attempt.write(record(1, "one") + record(2, "two") + record(3, "prompt> ", tag="P"))
    assert shaped(everything(opened(attempt.files, tail=2))) == b"two\nprompt> "


def test_a_tail_reads_only_the_end(attempt: Attempt, tmp_path: Path) -> None:
    attempt.write(b"".join(record(1, f"{number:0100}") for number in range(10_000)))
    index, offset = tail_start([tmp_path / "absent", attempt.live], 2)
    assert (index, offset) == (1, attempt.live.stat().st_size - 2 * len(record(1, "0" * 100)))


# Following


async def read_on(pieces: AsyncIterator[bytes], until: bytes) -> bytes:
    read = b""
    while not read.endswith(until):
        read += await anext(pieces)
    return read


async def test_a_followed_log_ends_with_its_attempt(attempt: Attempt) -> None:
    running = [True]
    pieces = logs.text(attempt.files, Options(follow=True, tail=1), lambda: running[0])
    attempt.write(record(1, "one") + record(2, "two"))
    assert await read_on(pieces, b"\n") == b"two\n"
    attempt.write(record(3, "three")[:-4])
    reading = asyncio.ensure_future(read_on(pieces, b"four\n"))
    await asyncio.sleep(0)
    attempt.write(b"ree\n")
    attempt.rotate()
    attempt.write(record(4, "four"))
    assert await reading == b"three\nfour\n"
    attempt.write(record(5, "last words"))
    running[0] = False
    assert [piece async for piece in pieces] == [b"last words\n"]


async def test_a_limit_ends_following(attempt: Attempt) -> None:
    attempt.write(THREE)
    always: Callable[[], bool] = lambda: True  # noqa: E731
    pieces = logs.text(attempt.files, Options(follow=True, limit=2), always)
    assert [piece async for piece in pieces] == [b"on"]
