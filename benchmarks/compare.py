# SPDX-License-Identifier: Apache-2.0
"""Two checkouts, side by side: one benchmark from each in turns, so that both meet the same machine.

    git worktree add ../before HEAD~20 && make -C ../before .venv/.ready
    python benchmarks/compare.py ../before -- apiserver.py --quick --rounds 1 --only embedded
    python benchmarks/compare.py ../before -- operators.py --quick --server embedded --only "springtide v2beta1"

The table shows the median of all rounds before and after, by how much it changed, and the spread: half the distance
between the quartiles of the earlier rounds, as a share of their median. A change within the spread means nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import machine
from machine import Figures, shown

HERE = Path(__file__).resolve().parent.parent


def measure(checkout: Path, benchmark: Sequence[str]) -> Figures:
    """All numbers that one run of the benchmark writes."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        program = [checkout / ".venv/bin/python", checkout / "benchmarks" / benchmark[0], *benchmark[1:]]
        subprocess.run([*program, "--json", file.name], check=True, cwd=checkout, stdout=subprocess.DEVNULL)
        report = json.loads(Path(file.name).read_bytes())
    return dict(_numbers(report.get("medians") or report["figures"]))


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The leaves, named by the innermost key: columns and servers are one here. Of a list of events the medians, named
    by where the list is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, list):
                yield from _medians(inner, f"{name}: {key}")
            else:
                yield from _numbers(inner, key)
    elif isinstance(value, int | float):
        yield name, float(value)


def _medians(events: Sequence[Any], name: str) -> Iterator[tuple[str, float]]:
    for key in events[0] if events and isinstance(events[0], dict) else ():
        yield f"{name}, {key}", float(statistics.median(event[key] for event in events))


def table(before: Sequence[Figures], after: Sequence[Figures]) -> str:
    old, new = machine.medians(before), machine.medians(after)
    rows = [["", "before", "after", "change", "spread"]]
    for name, value in old.items():
        if name in new and value:
            change = f"{(new[name] - value) / value:+.1%}"
            rows.append([name, shown(value), shown(new[name]), change, f"±{_spread(before, name):.1%}"])
    return machine.table(rows)


def _spread(rounds: Sequence[Figures], name: str) -> float:
    values = [figures[name] for figures in rounds]
    if len(values) < 2:
        return 0.0
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return (third - first) / 2 / statistics.median(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout, with its .venv made")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("benchmark", nargs="+", help="script and options, after --")
    arguments = parser.parse_args()
    sides = {"before": arguments.before.resolve(), "after": HERE}
    rounds: dict[str, list[Figures]] = {side: [] for side in sides}
    for number in range(arguments.rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            print(f"round {number + 1} of {arguments.rounds}: {side} ...", flush=True)
            rounds[side].append(measure(sides[side], arguments.benchmark))
    print(json.dumps(machine.described(), indent=2))
    print(table(rounds["before"], rounds["after"]))


if __name__ == "__main__":
    main()
