# SPDX-License-Identifier: Apache-2.0
"""What the supervisor writes for the agents: the node of the mirror pods, and the operator's processes.

The restart count is kept in the record and grows over restarts of the supervisor, as that of a container grows over
reboots of its node.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from springtide.local.access.files import write_private
from springtide.local.datadir import DataDir
from springtide.local.runtime.contract import ContainerState

CONTAINER: Final = "operator"
_UNKNOWN_EXIT: Final = 137
"""The exit status that kubelet reports for a container whose end nobody observed."""


class LogPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one process has written into the operator's log file, which all of them share."""

    inode: int
    """The file, which may have been renamed since: a long log is renamed when the next process starts."""
    start: int
    end: int | None = None
    """None while the process runs."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The newest process and the one before."""

    state: ContainerState
    log: LogPart
    previous: ContainerState | None = None
    previous_log: LogPart | None = None

    @property
    def runs(self) -> bool:
        return self.state.status == "running"

    def part_of(self, attempt: int) -> LogPart | None:
        """The log of an attempt; None for one that is older than the previous."""
        if attempt == self.state.attempt:
            return self.log
        if self.previous is not None and attempt == self.previous.attempt:
            return self.previous_log
        return None

    def state_of(self, attempt: int) -> ContainerState | None:
        return next((each for each in (self.state, self.previous) if each and each.attempt == attempt), None)


def started(before: Record | None, pid: int, log: LogPart, now: float) -> Record:
    """The record after a process was started. `log` begins where the process before stopped writing."""
    state = ContainerState(CONTAINER, 0, "running", pid, now)
    if before is None:
        return Record(state, log)
    before = ended(before, None, now)
    attempt = before.state.attempt + 1
    return Record(msgspec.structs.replace(state, attempt=attempt), log, before.state, before.log)


def ended(record: Record, code: int | None, now: float, end: int | None = None) -> Record:
    """The record after its process has exited with this status: negative for a signal, None where it is unknown."""
    if not record.runs:
        return record
    number = -code if code is not None and code < 0 else 0
    status = _UNKNOWN_EXIT if code is None else 128 + number if number else code
    reason = "ContainerStatusUnknown" if code is None else "Error" if status else "Completed"
    state = msgspec.structs.replace(
        record.state, status="exited", finished=now, exit_code=status, signal=number, reason=reason
    )
    return msgspec.structs.replace(record, state=state, log=msgspec.structs.replace(record.log, end=end))


# On disk


def read(directory: DataDir) -> Record | None:
    try:
        return msgspec.json.decode(directory.operator_record.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None


def write(directory: DataDir, record: Record) -> None:
    """OSError when the disk is full."""
    write_private(directory.operator_record, msgspec.json.encode(record))


def read_host(directory: DataDir) -> str:
    """The node that has the mirror pods; empty for none."""
    try:
        return directory.operator_host.read_text().strip()
    except (OSError, ValueError):
        return ""


def write_host(directory: DataDir, node: str) -> None:
    """OSError when the disk is full."""
    if read_host(directory) != node:
        write_private(directory.operator_host, f"{node}\n".encode())


def log_file(directory: DataDir, part: LogPart) -> Path | None:
    """The file that has this part; None when it was removed."""
    log = directory.operator_log
    for path in (log, log.with_name(f"{log.name}.1")):
        try:
            if path.stat().st_ino == part.inode:
                return path
        except OSError:
            continue
    return None


def part_from_here(descriptor: int) -> LogPart:
    """The part that begins at the present end of an open log file."""
    status = os.fstat(descriptor)
    return LogPart(status.st_ino, status.st_size)
