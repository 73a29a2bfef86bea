# SPDX-License-Identifier: Apache-2.0
"""Last words."""

from __future__ import annotations

import os
from pathlib import Path

from springtide.local.kubelet.status.termination import last_words

FALLBACK = {"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}


def a_log(path: Path, *lines: str) -> list[Path]:
    log = path / "0.log"
    log.write_text("".join(f"2026-11-16T04:30:00.123456789Z stdout F {line}\n" for line in lines))
    return [log]


def a_message(path: Path, text: str) -> Path:
    message = path / "0.message"
    message.write_text(text)
    return message


def test_what_the_container_wrote_is_its_message(tmp_path: Path) -> None:
    message = a_message(tmp_path, "no more disk")
    assert last_words({"name": "main"}, 1, message, a_log(tmp_path, "log")) == "no more disk"
    assert last_words(FALLBACK, 1, message, a_log(tmp_path, "log")) == "no more disk"


def test_of_a_long_message_the_end_is_kept(tmp_path: Path) -> None:
    text = last_words({}, 0, a_message(tmp_path, "a" * 5000 + "b"), [])
    assert (len(text), text[-2:]) == (4096, "ab")


def test_the_log_speaks_for_those_who_failed_and_said_nothing(tmp_path: Path) -> None:
    message, log = a_message(tmp_path, ""), a_log(tmp_path, "one", "two")
    assert last_words(FALLBACK, 1, message, log) == "one\ntwo\n"
    assert last_words(FALLBACK, 0, message, log) == ""
    assert last_words({"name": "main"}, 1, message, log) == ""


def test_no_more_than_eighty_lines_and_two_kilobytes_of_it(tmp_path: Path) -> None:
    message = tmp_path / "missing"
    short = last_words(FALLBACK, 1, message, a_log(tmp_path, *(str(number) for number in range(100))))
    assert short.splitlines() == [str(number) for number in range(20, 100)]
    long = last_words(FALLBACK, 1, message, a_log(tmp_path, *(f"{number:100}" for number in range(9000))))
    assert len(long) == 2048
    assert long.endswith(f"{8999:100}\n")


def test_nothing_is_said_where_there_is_nothing(tmp_path: Path) -> None:
    assert last_words(FALLBACK, 1, tmp_path / "missing", []) == ""


def test_neither_links_nor_pipes_are_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not for everybody")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    assert last_words({}, 1, tmp_path / "link", []) == ""
    assert last_words({}, 1, tmp_path / "pipe", []) == ""
    assert last_words({}, 1, tmp_path, []) == ""
