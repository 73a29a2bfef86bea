# SPDX-License-Identifier: Apache-2.0
"""Sums over ranks, beside gloo and Open MPI, and how soon ranks begin: on one machine, in one run.

    make bench-allreduce
    PYTHONPATH=. python benchmarks/allreduce.py sums --rounds 21 --sizes 2,4
    PYTHONPATH=. python benchmarks/allreduce.py start

All contenders are there at the same time, and take turns: what else goes on hits all of them, and figures of one line
can be compared. The least is what a line is judged by, for it has the least of others in it. Processor time is that of
all ranks together, and hardly depends on others at all. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import machine
import reducers
from machine import shown
from reducers import Answer, Order

MB = 1 << 20
SIZES = (2, 4)
ROUNDS = 11
STARTED = 8
"""Ranks that are started at once."""
_WITH_BYTE_CODE = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Installed packages have it beside them; a development machine may forbid to write it."""

SUMS = {
    "64 MB float32": Order((16 * MB,)),
    "64 MB float32, mean": Order((16 * MB,), mean=True),
    "64 MB float32 in 160 arrays": Order((16 * MB // 160,) * 160),
    "64 MB float64": Order((8 * MB,), "float64"),
    "64 MB int64": Order((8 * MB,), "int64"),
    "16 MB float32": Order((4 * MB,), times=3),
    "1 MB float32": Order((MB // 4,), times=20),
    "100 kB float32": Order((25_000,), times=50),
    "1 kB float32": Order((250,), times=100),
}


def sums(sizes: Sequence[int], rounds: int) -> None:
    for size in sizes:
        rows = [["", "springtide, ms", *(f"{name}, ms" for name in others()), "speed", "processor time, ms"]]
        with ExitStack() as stack:
            groups = {name: stack.enter_context(reducers.running(name, size)) for name in reducers.CONTENDERS}
            for what, order in SUMS.items():
                found: dict[str, list[Answer]] = {name: [] for name in groups}
                for _ in range(rounds):
                    for name, group in groups.items():
                        found[name].append(group.follow(order))
                rows.append([what, *_row(found)])
        print(f"\n{size} ranks, {rounds} rounds: least (median)\n\n{machine.table(rows)}\n", flush=True)


def others() -> list[str]:
    return [name for name in reducers.CONTENDERS if name != "springtide"]


def _row(found: dict[str, list[Answer]]) -> list[str]:
    times = {name: [each.took * 1000 for each in answers] for name, answers in found.items()}
    better = min(min(times[name]) for name in others())
    used = [shown(min(each.used for each in answers) * 1000) for answers in found.values()]
    cells = [f"{shown(min(each))} ({shown(statistics.median(each))})" for each in times.values()]
    return [*cells, f"{better / min(times['springtide']):.2f}", " : ".join(used)]


def start(rounds: int) -> None:
    """From the launcher's start to the first collective of all, beside what programs import by themselves."""
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(rounds):
        bare.append(_imports())
        ours.append(_first_collective())
    rows = [["", "least, s", "median, s"]]
    for what, times in (
        (f"`import numpy` in {STARTED} processes at once", bare),
        (f"`tiderun -np {STARTED}` until all are through their first collective", ours),
        ("the difference of the two", [one - other for one, other in zip(ours, bare, strict=True)]),
    ):
        rows.append([what, f"{min(times):.2f}", f"{statistics.median(times):.2f}"])
    print(f"\nStart of {STARTED} ranks, {rounds} rounds\n\n{machine.table(rows)}\n", flush=True)


def _imports() -> float:
    began = time.time()
    line = (sys.executable, "-c", "import numpy")
    for each in [subprocess.Popen(line, start_new_session=True) for _ in range(STARTED)]:
        each.wait()
    return time.time() - began


def _first_collective() -> float:
    with tempfile.TemporaryDirectory() as folder:
        launcher = ("springtide.elastic.launcher", "-np", str(STARTED), "-H", f"localhost:{STARTED}")
        program = str(reducers.PROGRAMS / "first.py")
        began = time.time()
        subprocess.run(
            (sys.executable, "-m", *launcher, sys.executable, program, folder),
            check=True,
            env=_WITH_BYTE_CODE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return max(float(each.read_text()) for each in Path(folder).iterdir()) - began


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "sums": lambda given: sums([int(each) for each in given.sizes.split(",")], given.rounds),
    "start": lambda given: start(given.rounds),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all, unless some are named")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of ranks")
    given = parser.parse_args()
    found = machine.described()
    print(f"{found['processor']}, {found['cores']} cores, Linux {found['kernel']}, Python {found['python']}")
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    for part in given.parts or PARTS:
        PARTS[part](given)
    print(f"load average after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
