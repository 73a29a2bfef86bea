# SPDX-License-Identifier: Apache-2.0
"""Logs of numbering programs: read from the files, judged. Pure but for `read`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

STREAMS = ("stdout", "stderr")


@dataclass(frozen=True)
class Account:
    """What one attempt's log says."""

    highest: dict[str, int] = field(default_factory=dict)
    """The last number of each stream."""
    ended: frozenset[str] = frozenset()
    """Streams whose program said its last word."""
    faults: tuple[str, ...] = ()
    torn: bool = False
    """Whether it ends with half a record: of one that is being written, or whose writer was killed just now."""

    @property
    def lines(self) -> int:
        return sum(self.highest.values())


def read(path: Path) -> Account:
    try:
        return account(path.read_text().splitlines(keepends=True))
    except FileNotFoundError:
        return Account(faults=("there is no log",))


def account(lines: Iterable[str]) -> Account:
    """Numbers of each stream from 1 on without a gap, then perhaps the end; times never go back."""
    highest = dict.fromkeys(STREAMS, 0)
    ended: set[str] = set()
    faults: list[str] = []
    before = ""
    lines = list(lines)
    torn = bool(lines) and not lines[-1].endswith("\n")
    for line in lines[:-1] if torn else lines:
        try:
            moment, stream, flag, text = line.rstrip("\n").split(" ", 3)
        except ValueError:
            faults.append(f"{line!r} is no line of a log")
            continue
        fault = _fault(line, flag, text, highest.get(stream, -1), stream in ended)
        if moment < before:
            fault = f"{line!r} is older than the line before it"
        before = moment
        if fault:
            faults.append(fault)
        elif text.startswith("end "):
            ended.add(stream)
        else:
            highest[stream] += 1
    return Account(highest, frozenset(ended), tuple(faults[:5]), torn)


def _fault(line: str, flag: str, text: str, highest: int, ended: bool) -> str:
    if flag != "F":
        return f"{line!r} is only half a line"
    if ended:
        return f"{line!r} comes after the end"
    wanted = f"end {highest}" if text.startswith("end ") else str(highest + 1)
    return "" if text == wanted else f"{line!r} comes after {highest}"
