# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from springtide.cli.arena.log_lines import Level, Log, in_file, on_terminal

NOW = datetime(2025, 1, 2, 3, 4, 5, 678, UTC)


def test_a_line_on_a_terminal_has_the_seconds_since_the_start() -> None:
    line = on_terminal(Level.INFO, "The Job a has been submitted successfully", 3, colours=True)
    assert line == "\x1b[36mINFO\x1b[0m[0003] The Job a has been submitted successfully    "
    assert on_terminal(Level.ERROR, "no", 0, colours=False).rstrip() == "ERRO[0000] no"
    assert on_terminal(Level.WARN, "no", 12345, colours=False).rstrip() == "WARN[12345] no"


def test_a_line_in_a_file_has_the_time_and_is_quoted_where_needed() -> None:
    assert in_file(Level.INFO, "a b", NOW) == 'time="2025-01-02T03:04:05Z" level=info msg="a b"'
    assert in_file(Level.WARN, "bare", NOW) == 'time="2025-01-02T03:04:05Z" level=warning msg=bare'
    east = NOW.astimezone(timezone(timedelta(hours=8)))
    assert in_file(Level.ERROR, 'a\n"b"', east) == 'time="2025-01-02T11:04:05+08:00" level=error msg="a\\n\\"b\\""'


def test_less_important_lines_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.level = Level.WARN
    log.debug("one")
    log.info("two")
    log.warn("three")
    log.error("four")
    assert [line.partition("level=")[2] for line in capsys.readouterr().err.splitlines()] == [
        "warning msg=three",
        "error msg=four",
    ]
