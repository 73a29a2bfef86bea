# SPDX-License-Identifier: Apache-2.0
"""All options of `kubectl logs` for a log of plain lines."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import pytest

from springtide.local.kubelet.mirror_pods import plain_logs
from springtide.local.kubelet.mirror_pods.plain_logs import Stamper
from springtide.local.kubelet.mirror_pods.records import LogPart
from springtide.local.pod_logs.reading import CHUNK, Options

BEGAN = datetime.fromisoformat("2026-11-16T04:00:00Z").timestamp()
LINES = (
    "Warning: starting",
    "2026-11-16T04:00:01Z INFO one",
    "2026-11-16T04:00:02.5Z ERROR two",
    "Traceback (most recent call last):",
    "2026-11-16T04:00:03,250Z INFO three",
)
TEXT = "".join(f"{line}\n" for line in LINES)


async def shown(path: Path | None, part: LogPart | None, options: Options) -> str:
    pieces = plain_logs.text(path, lambda: part, options, lambda: False, BEGAN)
    return b"".join([piece async for piece in pieces]).decode()


def write(log: Path, text: str) -> int:
    """The size of the file with this text at its end."""
    with log.open("a") as more:
        more.write(text)
    return log.stat().st_size


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "operator.log"
    path.write_text(TEXT)
    return path


def test_lines_without_a_time_have_that_of_the_line_before() -> None:
    stamps = [record.split(b" ")[0].decode() for record in Stamper(BEGAN).feed(TEXT.encode()).splitlines()]
    assert stamps == [
        "2026-11-16T04:00:00.000000000Z",
        "2026-11-16T04:00:01.000000000Z",
        "2026-11-16T04:00:02.500000000Z",
        "2026-11-16T04:00:02.500000000Z",
        "2026-11-16T04:00:03.250000000Z",
    ]


def test_a_time_without_a_zone_is_local() -> None:
    record = Stamper(BEGAN).feed(b"2026-11-16 04:00:01,250 INFO one\n")
    moment = datetime.fromisoformat(record.split(b" ")[0].decode())
    assert moment == datetime.fromisoformat("2026-11-16 04:00:01.250").astimezone()


@pytest.mark.parametrize("line", [b"2026-13-45 99:99:99 INFO", b"2026-11-16 04:00:01x", b"\xff\xfe", b""])
def test_what_is_no_time_changes_none(line: bytes) -> None:
    assert Stamper(BEGAN).feed(line + b"\n").startswith(b"2026-11-16T04:00:00.000000000Z stderr F")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (Options(), LINES),
        (Options(tail=2), LINES[-2:]),
        (Options(tail=0), ()),
        (Options(tail=99), LINES),
        (Options(since="2026-11-16T04:00:02.000000000Z"), LINES[2:]),
        (Options(stream="stdout"), ()),
        (Options(tail=1, timestamps=True), (f"2026-11-16T04:00:03.250000000Z {LINES[-1]}",)),
    ],
)
async def test_options_choose_lines(log: Path, options: Options, lines: tuple[str, ...]) -> None:
    assert (await shown(log, LogPart(0, 0), options)).splitlines() == list(lines)


async def test_a_limit_counts_bytes(log: Path) -> None:
    assert await shown(log, LogPart(0, 0), Options(limit=10)) == "Warning: s"


async def test_other_processes_parts_are_not_shown(log: Path) -> None:
    start, end = TEXT.index(LINES[1]), TEXT.index(LINES[3])
    part = LogPart(0, start, end)
    assert (await shown(log, part, Options())).splitlines() == list(LINES[1:3])
    assert (await shown(log, part, Options(tail=1))).splitlines() == [LINES[2]]
    assert (await shown(log, part, Options(tail=9))).splitlines() == list(LINES[1:3])


async def test_the_beginning_of_a_line_is_shown(log: Path) -> None:
    write(log, "half")
    assert (await shown(log, LogPart(0, 0), Options())).splitlines()[-1] == "half"


async def test_a_log_that_is_gone_is_empty(log: Path) -> None:
    assert await shown(None, LogPart(0, 0), Options()) == ""
    assert await shown(log, None, Options()) == ""
    assert await shown(log.with_name("gone"), LogPart(0, 0), Options()) == ""


async def test_the_tail_of_a_long_log_is_found(log: Path) -> None:
    lines = [f"line {number} " + "x" * 100 for number in range(3 * CHUNK // 100)]
    write(log, "".join(f"{line}\n" for line in lines))
    assert (await shown(log, LogPart(0, 0), Options(tail=1000))).splitlines() == lines[-1000:]


async def test_a_followed_log_ends_with_its_process_and_without_the_next_one_s_lines(log: Path) -> None:
    part, runs = [LogPart(0, 0)], [True]
    pieces = plain_logs.text(log, lambda: part[0], Options(follow=True), lambda: runs[0], BEGAN)

    async def follow() -> str:
        return b"".join([piece async for piece in pieces]).decode()

    following = asyncio.create_task(follow())
    await asyncio.sleep(0.1)
    part[0], runs[0] = LogPart(0, 0, write(log, "last words\n")), False
    write(log, "of the next process\n")
    assert await asyncio.wait_for(following, 5) == f"{TEXT}last words\n"
