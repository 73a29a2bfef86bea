# SPDX-License-Identifier: Apache-2.0
"""What it costs to change the size of a training group: ours beside Horovod Elastic and torchrun, in one run.

    make bench-resize
    PYTHONPATH=. python benchmarks/resize.py --quick
    PYTHONPATH=. python benchmarks/resize.py --only "springtide, NumPy"

Every contender trains a model of 100 MB in steps of 20 ms, with a commit every ten steps, on this machine: two ranks,
then three, then two again, several times; then one of three is killed. What counts is the gap between two steps at rank
0. Then ours once more with 1 GB, beside the time that copying as much over loopback takes. Nothing here is a test:
figures depend on the machine and on who else is using it, so both are written down.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import frameworks
import loopback
import machine
import resizers
from diaries import LateError, Pause, Step
from machine import shown
from resizers import Contender, Group
from resizing import steps

MODEL, LARGE = 100, 1000
"""MB"""
CALM = 40
"""Steps of a group before something is done to it."""
LOOK = 0.1
QUIET = 0.1
IDLE = 2.0
"""Seconds in which we look what others do with the machine."""
OURS = "springtide, NumPy"
OURS_TORCH = "springtide, PyTorch with gloo"
HOROVOD = "Horovod Elastic 0.28.1"
TORCHRUN = "torchrun 2.15"
CONTENDERS: dict[str, Callable[[], Contender]] = {
    OURS: lambda: resizers.ours(Path(sys.executable), "ours.py"),
    OURS_TORCH: lambda: resizers.ours(frameworks.torch(), "ours_torch.py"),
    HOROVOD: lambda: resizers.horovod(frameworks.horovod()),
    TORCHRUN: lambda: resizers.torchrun(frameworks.torch()),
}


@dataclass
class Found:
    """What was seen of one contender."""

    grows: list[Pause] = field(default_factory=list)
    shrinks: list[Pause] = field(default_factory=list)
    deaths: list[Pause] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    """Codes of ranks that left."""
    trouble: str = ""


def measure(contender: Contender, megabytes: int, rounds: int) -> Found:
    found = Found()
    with resizers.running(contender, megabytes) as group:
        try:
            _calm(contender, group, 2)
            for number in range(rounds):
                found.grows.append(_resized(contender, group, 3))
                found.shrinks.append(_resized(contender, group, 2))
                found.exits.append(_left(contender, group, number + 1))
            if megabytes == LARGE:
                return found
            group.resize(3)
            for _ in range(rounds):
                _calm(contender, group, 3)
                found.deaths.append(_killed(contender, group))
        except LateError as error:
            found.trouble = f"{error}\n{group.log()[-3000:]}"
    return found


def _calm(contender: Contender, group: Group, size: int) -> None:
    """Until a group of this size has trained for a while."""
    first = group.diaries.until(lambda step: step.size == size, f"{size} ranks", contender.patience)

    def calm(step: Step) -> bool:
        return step.size == size and step.number > first.number + CALM

    group.diaries.until(calm, f"{size} ranks that go on training", contender.patience)


def _resized(contender: Contender, group: Group, size: int) -> Pause:
    since = time.monotonic()
    group.resize(size)
    _calm(contender, group, size)
    return group.diaries.pause(since, lambda _, step: step.size == size)


def _left(contender: Contender, group: Group, rounds: int) -> int:
    """The code of the rank that went in this round; -1 if it is still there."""
    deadline = time.monotonic() + contender.patience
    while len(codes := group.exits(resizers.HOSTS[2])) < rounds and time.monotonic() < deadline:
        time.sleep(LOOK)
    return codes[-1] if len(codes) >= rounds else -1


def _killed(contender: Contender, group: Group) -> Pause:
    before, victim = group.diaries.last()[0], group.diaries.last()[1]
    since = time.monotonic()
    os.kill(victim.pid, signal.SIGKILL)

    def changed(before: Step, step: Step) -> bool:
        return (step.size, step.pid) != (before.size, before.pid)

    group.diaries.until(lambda step: changed(before, step), "a step after a death", contender.patience)
    return group.diaries.pause(since, changed)


# -- what is shown -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One figure of all contenders, and what is asked of ours."""

    name: str
    of: Callable[[Found], Sequence[float]]
    aim: str = ""
    met: Callable[[float], bool] | None = None
    worst: bool = False
    """Where one that is worse would be one too many."""

    def row(self, found: dict[str, Found]) -> list[str]:
        ours = self._figure(found[OURS]) if OURS in found else None
        verdict = "" if self.met is None or ours is None else "yes" if self.met(ours) else "**no**"
        return [self.name, *(self._cell(each) for each in found.values()), self.aim, verdict]

    def _figure(self, found: Found) -> float | None:
        values = self.of(found)
        if not values:
            return None
        return max(values) if self.worst else statistics.median(values)

    def _cell(self, found: Found) -> str:
        values = self.of(found)
        if not values:
            return "none seen" if found.trouble else ""
        if all(isinstance(value, int) for value in values):
            return ", ".join(map(str, dict.fromkeys(sorted(values))))
        return _spread(values)


LINES = (
    Line("grow 2→3, pause s", lambda found: _net(found.grows), "≤ 0.3", lambda value: value <= 0.3),
    Line("grow 2→3, gap s", lambda found: [each.gap for each in found.grows]),
    Line("grow 2→3, asked for to first step of three s", lambda found: [each.waited for each in found.grows]),
    Line("shrink 3→2, pause s", lambda found: _net(found.shrinks), "≤ 0.1", lambda value: value <= 0.1),
    Line("shrink 3→2, gap s", lambda found: [each.gap for each in found.shrinks]),
    Line("shrink 3→2, asked for to first step of two s", lambda found: [each.waited for each in found.shrinks]),
    Line("exit code of the rank that leaves", lambda found: found.exits, "0", lambda value: value == 0, worst=True),
    Line("steps done again after a resize", lambda found: [each.lost for each in (*found.grows, *found.shrinks)]),
    Line(
        "`kill -9` of a rank to the next step s",
        lambda found: [each.waited for each in found.deaths],
        "≤ 3",
        lambda value: value <= 3,
        worst=True,
    ),
    Line(
        "steps done again after it",
        lambda found: [each.lost for each in found.deaths],
        f"≤ {steps.COMMIT}",
        lambda value: value <= steps.COMMIT,
        worst=True,
    ),
    Line("usual step s", lambda found: [each.usual for each in (*found.grows, *found.shrinks)]),
)


def _net(pauses: Sequence[Pause]) -> list[float]:
    return [pause.net for pause in pauses]


def table(found: dict[str, Found]) -> str:
    rows = [["", *found, "aim", "met"], *(line.row(found) for line in LINES)]
    theirs, ours = found.get(HOROVOD), found.get(OURS)
    if theirs and ours and theirs.grows and ours.grows:
        ratio = statistics.median(_net(theirs.grows)) / statistics.median(_net(ours.grows))
        cells = [shown(ratio) if name == OURS else "" for name in found]
        rows.insert(2, ["grow, times shorter than Horovod's", *cells, "≥ 10", "yes" if ratio >= 10 else "**no**"])
    return machine.table(rows)


def large(copies: Sequence[float], found: Found) -> str:
    """1 GB."""
    pauses = _net(found.grows)
    ratio = statistics.median(pauses) / statistics.median(copies)
    rows = [["1 GB", "seen", "aim", "met"]]
    rows.append(["copy over loopback s", _spread(copies), "", ""])
    rows.append(["grow 2→3, pause s", _spread(pauses), "", ""])
    rows.append(["grow, times as long as the copy", shown(ratio), "≤ 3", "yes" if ratio <= 3 else "**no**"])
    return machine.table(rows)


def _spread(values: Sequence[float]) -> str:
    """The median, and between which values it lies."""
    middle = shown(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({shown(min(values))}–{shown(max(values))})"


# -- the whole ---------------------------------------------------------------------------------------------------------


def others() -> float:
    """The share of the machine that somebody uses while nothing of this benchmark runs."""
    before, began = machine.busy(), time.perf_counter()
    time.sleep(IDLE)
    return (machine.busy() - before) / (time.perf_counter() - began) / (os.cpu_count() or 1)


def conditions(about: dict[str, Any], rounds: int) -> str:
    """What the figures are worth, in words."""
    seen, shares, loads = about["machine"], about["used_by_others_between"], about["load_average"]
    state = "quiet machine" if max(shares) < QUIET else "**busy machine**"
    return (
        f"Machine: {seen['processor']}, {seen['cores']} cores, {seen['memory_gib']} GiB, Linux {seen['kernel']}, "
        f"Python {seen['python']}. {datetime.now(UTC):%Y-%m-%d}, {state}: between the contenders others used "
        f"{min(shares):.0%} to {max(shares):.0%} of the processors, load average {loads['before']:.1f} before. "
        f"Each figure is the median of {rounds}, with the lowest and highest; the run took {about['seconds']} s."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="everything once instead of three times")
    parser.add_argument("--only", choices=CONTENDERS, action="append", help="the column of this name; several may be")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and all that was started
    rounds = 1 if arguments.quick else 3
    wanted = {name: make() for name, make in CONTENDERS.items() if name in (arguments.only or CONTENDERS)}
    loads, shares, began = [os.getloadavg()[0]], [others()], time.monotonic()
    found: dict[str, Found] = {}
    for name, contender in wanted.items():
        print(f"{name} ...", flush=True)
        found[name] = measure(contender, MODEL, rounds)
        if found[name].trouble:
            print(found[name].trouble)
        loads.append(os.getloadavg()[0])
        shares.append(others())
    copies, grown = [], Found()
    if OURS in wanted:
        print(f"{OURS}, 1 GB ...", flush=True)
        for _ in range(rounds):
            copies.append(loopback.copied(LARGE))
            grown.grows += measure(wanted[OURS], LARGE, 1).grows
        shares.append(others())
    about = {
        "machine": machine.described(),
        "load_average": {"before": loads[0], "after_each": loads[1:]},
        "used_by_others_between": [round(share, 2) for share in shares],
        "seconds": round(time.monotonic() - began),
    }
    print(f"\n{conditions(about, rounds)}\n\n{table(found)}")
    if grown.grows:
        print(f"\n{large(copies, grown)}")
    if arguments.json:
        figures = {name: asdict(each) for name, each in found.items()}
        figures[f"{OURS}, 1 GB"] = asdict(grown) | {"copies": copies}
        arguments.json.write_text(json.dumps({**about, "figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
