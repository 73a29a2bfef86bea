# SPDX-License-Identifier: Apache-2.0
"""How training went, from the reports of a job's launcher, and a picture of it.

Reports are the lines of its log, the annotation of its pod, or what the job's status repeats of them. A report adds a
point: a step that is not there yet. What is trained again after a failure is there only once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from springtide.views.jobs import JobView
from springtide.views.logs import loss_curve
from springtide.views.pages.ages import human_duration, instant
from springtide.views.pages.tables import printable, shortened

ANNOTATION: Final = "springtide.dev/progress"
_LINE: Final = '{"springtide":"progress"'
_LONGEST: Final = 256 * 1024
_RATED: Final = 5
"""The rate is that of so many last points: single ones differ too much."""
_WIDEST: Final = 120
_MARKS: Final = "·123456789"
"""A number of ranks on the axis, in one character."""


@dataclass(frozen=True, slots=True)
class Point:
    step: int
    loss: float | None
    ranks: int | None
    at: datetime | None
    samples: float | None
    """A second, if the program says so."""


class History:
    def __init__(self) -> None:
        self.points: list[Point] = []

    def read_log(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line.startswith(_LINE):
                self.read(line)

    def read(self, report: str) -> bool:
        """Whether the report was new. Programs may have written anything."""
        if not report or len(report) > _LONGEST:
            return False
        try:
            found = msgspec.json.decode(report)
        except msgspec.DecodeError:
            return False
        return isinstance(found, dict) and self._add(found)

    def read_status(self, view: JobView) -> bool:
        """For jobs whose launcher's pod is gone, or may not be read."""
        said = view.progress
        if said is None or said.step is None:
            return False
        loss = _number(said.loss) if said.loss else None
        return self._append(Point(said.step, loss, said.ranks, said.updated, None))

    def _add(self, found: dict[str, Any]) -> bool:
        step, ranks = _number(found.get("step")), _number(found.get("size"))
        if step is None or step < 0:
            return False
        at = found.get("at")
        return self._append(
            Point(
                int(step),
                _number(found.get("loss")),
                int(ranks) if ranks is not None else None,
                instant(at) if isinstance(at, str) else None,
                _number(found.get("samples_per_second")),
            )
        )

    def _append(self, point: Point) -> bool:
        last = self.points[-1] if self.points else None
        if last is not None and (point.step == last.step or _not_later(point, last)):
            return False
        while self.points and self.points[-1].step >= point.step:
            self.points.pop()
        self.points.append(point)
        return True

    @property
    def losses(self) -> list[tuple[int, float]]:
        return [(each.step, each.loss) for each in self.points if each.loss is not None]

    @property
    def marks(self) -> list[tuple[int, int, str]]:
        """Since which step how many ranks trained."""
        found: list[tuple[int, int, str]] = []
        since = 0
        for each in self.points:
            if each.ranks is not None and (not found or found[-1][1] != each.ranks):
                found.append((since, each.ranks, _MARKS[each.ranks] if 0 <= each.ranks < len(_MARKS) else "+"))
            since = each.step
        return found

    @property
    def rate(self) -> tuple[float, str] | None:
        """The throughput: what the program says, else steps."""
        if not self.points:
            return None
        if (samples := self.points[-1].samples) is not None:
            return samples, "samples/s"
        timed = [each for each in self.points[-_RATED:] if each.at is not None]
        if len(timed) < 2:
            return None
        first, last = timed[0], timed[-1]
        assert first.at is not None
        assert last.at is not None
        span = (last.at - first.at).total_seconds()
        return ((last.step - first.step) / span, "steps/s") if span > 0 else None


def _not_later(point: Point, last: Point) -> bool:
    """Whether it is an old report, such as the status repeats for a while."""
    return point.at is not None and last.at is not None and point.at <= last.at


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None  # type: ignore[arg-type]


def line(view: JobView, history: History) -> str:
    """Where training is, in one line."""
    last = history.points[-1] if history.points else None
    rate = history.rate
    parts = [
        view.state,
        f"workers {view.workers}" + (f" ({view.bounds})" if view.bounds else ""),
        f"step {last.step}" if last is not None else "",
        f"loss {last.loss:.4g}" if last is not None and last.loss is not None else "",
        f"ranks {last.ranks}" if last is not None and last.ranks is not None else "",
        f"{rate[0]:.4g} {rate[1]}" if rate is not None else "",
    ]
    return "  ".join(part for part in parts if part)


def picture(view: JobView, history: History, now: datetime, width: int, height: int = 8) -> Sequence[str]:
    """The job, its loss as a curve with the number of ranks below, and its instances."""
    room = min(width, _WIDEST)
    head = f"{view.name}  {human_duration(view.duration(now))}  {printable(view.explanation)}"
    lines = [shortened(head, width), shortened(line(view, history), width), ""]
    if history.losses:
        losses, marks, last = history.losses, history.marks, max(history.points[-1].step, 1)
        lines += loss_curve.curve(losses, marks, last, room, height, axis=loss_curve.axis_of(losses))
        lines += [f"{'step':>{room - len(str(last)) - 1}} {last}", ""]
    names = ", ".join(f"{each.name.removeprefix(view.name + '-')} {each.status}" for each in view.instances)
    return [*lines, shortened(names, width)]
