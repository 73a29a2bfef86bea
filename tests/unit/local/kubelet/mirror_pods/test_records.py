# SPDX-License-Identifier: Apache-2.0
"""What agents read of the operator's processes: attempts are counted, also over deaths that nobody observed."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.local.datadir import DataDir
from springtide.local.kubelet.mirror_pods import records
from springtide.local.kubelet.mirror_pods.records import LogPart, Record, ended, started

FIRST = started(None, 10, LogPart(1, 0), 100.0)


def test_the_first_process_is_attempt_0() -> None:
    assert FIRST.runs
    assert (FIRST.state.attempt, FIRST.state.pid, FIRST.state.started) == (0, 10, 100.0)
    assert FIRST.part_of(0) == LogPart(1, 0)
    assert FIRST.part_of(1) is None


@pytest.mark.parametrize(
    ("code", "status", "signal", "reason"),
    [(0, 0, 0, "Completed"), (2, 2, 0, "Error"), (-9, 137, 9, "Error"), (None, 137, 0, "ContainerStatusUnknown")],
)
def test_an_exit_is_shown_as_that_of_a_container(code: int | None, status: int, signal: int, reason: str) -> None:
    record = ended(FIRST, code, 101.0, 50)
    assert not record.runs
    state = record.state
    assert (state.exit_code, state.signal, state.reason, state.finished) == (status, signal, reason, 101.0)
    assert record.part_of(0) == LogPart(1, 0, 50)
    assert ended(record, 1, 102.0) is record


def test_the_next_process_is_the_next_attempt_and_the_last_one_stays_readable() -> None:
    first = ended(FIRST, -9, 101.0, 50)
    second = started(first, 11, LogPart(1, 50), 102.0)
    assert second.state.attempt == 1
    assert second.previous == first.state
    assert (second.part_of(0), second.part_of(1)) == (LogPart(1, 0, 50), LogPart(1, 50))
    third = started(second, 12, LogPart(1, 70), 103.0)
    assert third.state.attempt == 2
    assert third.previous is not None
    assert third.previous.reason == "ContainerStatusUnknown"
    assert third.part_of(0) is None
    assert third.state_of(1) == third.previous


def test_records_are_files(tmp_path: Path) -> None:
    directory = DataDir(tmp_path)
    assert records.read(directory) is None
    assert records.read_host(directory) == ""
    record = started(FIRST, 11, LogPart(1, 50), 102.0)
    records.write(directory, record)
    records.write_host(directory, "a")
    assert records.read(directory) == record
    assert records.read_host(directory) == "a"
    directory.operator_record.write_text("{")
    assert records.read(directory) is None


def test_a_log_that_was_renamed_is_found(tmp_path: Path) -> None:
    directory = DataDir(tmp_path)
    directory.operator.mkdir()
    with directory.operator_log.open("ab") as log:
        log.write(b"text\n")
        log.flush()
        part = records.part_from_here(log.fileno())
    assert part.start == 5
    assert records.log_file(directory, part) == directory.operator_log
    renamed = directory.operator_log.rename(directory.operator / "operator.log.1")
    assert records.log_file(directory, part) == renamed
    renamed.unlink()
    assert records.log_file(directory, part) is None


def test_a_record_names_its_attempts_alone() -> None:
    assert Record(FIRST.state, FIRST.log).state_of(5) is None
