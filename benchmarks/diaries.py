# SPDX-License-Identifier: Apache-2.0
"""What ranks wrote down of their steps, and what it says about a change of the group: see `resizing/steps.py`."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_LOOK = 0.1
_LAST = 4096
"""Bytes of a diary that hold its newest steps."""
_MANY = 100


class Step(NamedTuple):
    at: float
    rank: int
    size: int
    number: int
    pid: int


class LateError(Exception):
    """What was waited for did not come."""


@dataclass(frozen=True)
class Pause:
    """A change of the group as rank 0 saw it."""

    gap: float
    """Seconds between two steps: those around the change, or the two before where that took longer."""
    usual: float
    """The same where nothing happened."""
    waited: float
    """Seconds from the deed to the first step afterwards."""
    lost: int
    """Steps that were done again."""

    @property
    def net(self) -> float:
        return self.gap - self.usual


@dataclass(frozen=True)
class Diaries:
    folder: Path

    def steps(self) -> list[Step]:
        """Those of rank 0, whoever that was."""
        found = [step for file in self.folder.glob("*.steps") for step in _read(file.read_bytes(), file)]
        return sorted(step for step in found if step.rank == 0)

    def last(self) -> dict[int, Step]:
        """The newest of every rank."""
        found: dict[int, Step] = {}
        for file in self.folder.glob("*.steps"):
            with file.open("rb") as diary:
                diary.seek(max(file.stat().st_size - _LAST, 0))
                for step in list(_read(diary.read(), file))[-1:]:
                    if step.rank not in found or step.at > found[step.rank].at:
                        found[step.rank] = step
        return found

    def until(self, wanted: Callable[[Step], bool], what: str, patience: float) -> Step:
        """Until the newest step of rank 0 is like this."""
        deadline = time.monotonic() + patience
        while True:
            newest = self.last().get(0)
            if newest is not None and wanted(newest):
                return newest
            if time.monotonic() > deadline:
                raise LateError(f"{what}: not within {patience:.0f} s; rank 0 was last seen at {newest}")
            time.sleep(_LOOK)

    def pause(self, since: float, changed: Callable[[Step, Step], bool]) -> Pause:
        """The change after this moment; its first step is known by comparison with the last one before."""
        steps = self.steps()
        before = max((step for step in steps if step.at <= since), key=lambda step: step.at)
        first = next(step for step in steps if step.at > since and changed(before, step))
        earlier, last = steps[steps.index(first) - 2 : steps.index(first)]
        pairs = itertools.pairwise(steps)
        usual = [two.at - one.at for one, two in pairs if one.pid == two.pid and two.at <= since]
        gap = max(first.at - last.at, last.at - earlier.at)
        lost = last.number - first.number + 1
        return Pause(gap, statistics.median(usual[-_MANY:]), first.at - since, lost)


def _read(data: bytes, file: Path) -> Iterator[Step]:
    """Lines that are whole; the first may have lost its beginning."""
    for line in data.rpartition(b"\n")[0].split(b"\n"):
        words = line.split()
        if len(words) == 4 and len(words[0]) > 9:
            at, rank, size, number = map(int, words)
            yield Step(at / 1e9, rank, size, number, int(file.stem))
