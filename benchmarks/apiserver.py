# SPDX-License-Identifier: Apache-2.0
"""The embedded API server and the real one, side by side: the same requests, the same machine, one run.

    make bench                                    three rounds, both servers
    python benchmarks/apiserver.py --rounds 1 --only embedded

Every round starts both servers fresh, one after the other and in changing order; the table shows medians over the
rounds. Nothing here is a test: figures depend on the machine and on who else is using it, so both are written down.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import load
import machine
import servers
from machine import Figures, shown

PODS = 5_000
WRITES = 4_000
GETS = 12_000
WATCHERS = 100
WARM_UP = 320
SETTLE = 2.0  # seconds until memory is looked at: garbage of the last request is nobody's need

AIMS = {  # what the embedded server shall reach, as a share of the real one's figure
    "configmap create /s": 1.5,
    "configmap get /s": 1.5,
    "configmap merge patch /s": 1.5,
    "apply, new object /s": 1.5,
    "apply, changed object /s": 1.5,
    "pod create /s": 1.0,
    "memory empty MB": 0.25,
    f"memory with {PODS} pods MB": 0.25,
}


def measure(running: servers.Running, share: float) -> Figures:
    """All figures of one freshly started server, from this share of the requests."""
    figures: Figures = {
        "start to ready s": running.ready_after,
        "start to ready, processor time s": running.processor_seconds(),
    }
    time.sleep(SETTLE)
    _memory(figures, "memory empty", running)
    running.ask("prepare")
    for what in load.REQUESTS:
        running.ask(what, tag="warm", count=WARM_UP)
    _rate(figures, running, "pod create", PODS - WARM_UP)
    time.sleep(SETTLE)
    _memory(figures, f"memory with {PODS} pods", running)
    running.ask("list", count=1)
    figures[f"list of {PODS} pods s"] = running.ask("list", count=5)["seconds"]
    for what in load.REQUESTS:
        if what != "pod create":
            _rate(figures, running, what, int((GETS if what.endswith("get") else WRITES) * share))
    seen = running.ask("watch", watchers=WATCHERS, count=50)
    figures[f"change seen by the last of {WATCHERS} watchers ms"] = seen["milliseconds"]
    return figures


def _rate(figures: Figures, running: servers.Running, what: str, count: int) -> None:
    before = running.processor_seconds()
    result = running.ask(what, tag="b", count=count)
    figures[f"{what} /s"] = result["per_second"]
    figures[f"{what}, 99th percentile ms"] = result["p99_ms"]
    # Says more than the rate on a machine that others use too.
    figures[f"{what}, processor time ms"] = (running.processor_seconds() - before) / count * 1000


def _memory(figures: Figures, what: str, running: servers.Running) -> None:
    parts = running.memory()
    figures[f"{what} MB"] = sum(parts.values())
    if len(parts) > 1:
        figures |= {f"{what}, {name} MB": size for name, size in parts.items()}


def table(found: dict[str, Figures]) -> str:
    """A Markdown table; the last two columns only when both servers were measured."""
    names = list(dict.fromkeys(name for figures in found.values() for name in figures))
    both = len(found) == 2
    rows = [["", *found, *(["ratio", "aim"] if both else [])]]
    for name in names:
        values = [figures.get(name) for figures in found.values()]
        row = [name, *(shown(value) for value in values)]
        if both:
            ours, theirs = values
            row.append(f"{ours / theirs:.2f}" if ours is not None and theirs else "")
            row.append(_aim(name))
        rows.append(row)
    return machine.table(rows)


def _aim(name: str) -> str:
    if name == "start to ready s":
        return "at most 1 s"
    share = AIMS.get(name)
    return "" if share is None else f"at {'most' if share < 1 else 'least'} {share:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="an eighth of the requests, to see that it works")
    parser.add_argument("--only", choices=("embedded", "real"))
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    arguments = parser.parse_args()
    starts = {"embedded": servers.embedded, "real": servers.real}
    names = [arguments.only] if arguments.only else list(starts)
    rounds: dict[str, list[Figures]] = {name: [] for name in names}
    versions: dict[str, str] = {}
    loads = [os.getloadavg()[0]]
    if "embedded" in names:
        with servers.embedded():  # once for nothing: the first start after an installation writes the byte code
            pass
    for number in range(arguments.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            print(f"round {number + 1} of {arguments.rounds}: {name} ...", flush=True)
            with starts[name]() as running:
                versions[name] = running.version()
                rounds[name].append(measure(running, 1 / 8 if arguments.quick else 1))
        loads.append(os.getloadavg()[0])
    found = {name: machine.medians(figures) for name, figures in rounds.items()}
    report = {
        "machine": machine.described(),
        "versions": versions,
        "load_average": {"before": loads[0], "after_each_round": loads[1:]},
        "medians": found,
        "rounds": rounds,
    }
    print(json.dumps({key: report[key] for key in ("machine", "versions", "load_average")}, indent=2))
    print(table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
