# SPDX-License-Identifier: Apache-2.0
"""Our operator beside another one: the same jobs on the same API server, on the same machine, in one run.

    make bench-operator
    SPRINGTIDE_OTHER_OPERATOR=... python benchmarks/operators.py --server kube-apiserver
    python benchmarks/operators.py --quick --only "springtide v2beta1"
    python benchmarks/operators.py --server pods           our operator with real pods alone

Every figure of a column comes from operators and servers that were started for it alone. The servers have no nodes, and
kube-apiserver no controllers: an operator's pods are created and stay as they are, so nothing but it and the server
works. Nothing here is a test: figures depend on the machine and on who else is using it, so both are written down.

It is not called `operator`, because a script's folder comes before the standard library, which has an `operator`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import contenders
import hostlists
import joblife
import machine
import servers
from contenders import Contender, Process
from joblife import Bench
from machine import Figures, at, shown

SIZES = (200, 500, 1_000)
RESIZED = 500
"""Among so many jobs the replica changes and the idle operator are measured."""
LIMITED = 20
"""Jobs for an operator with limits, which would take minutes for more."""
CHANGES = 40
PAUSE = 0.2
"""Seconds between two changes, so that only one is dealt with at a time."""
AT_ONCE = 100
IDLE = 20.0
QUIET = 0.03
"""Seconds of processor time in a second: an operator that uses less has nothing left to do."""

AIMS = {
    "200 jobs at once, jobs/s": "at least 45",
    "500 jobs at once, jobs/s": "at least 45",
    "replica change to new pod, p50 ms": "at most 20",
    "500 jobs at once, peak memory MB": "at most theirs",
    "1,000 jobs at once, complaints in its log": "none",
    "processor of the idle operator %": "less than 1",
    "new pod ready to the launcher's script, p50 ms": "at most 300",
}

PODS = "pods"
"""Not a server for all: `tide up` as it is, with our operator and pods that run."""
SERVERS: dict[str, Callable[[], AbstractContextManager[servers.Running]]] = {
    "kube-apiserver": servers.real,
    "embedded": servers.embedded,
}


@dataclass(frozen=True)
class Setting:
    """An operator at work on a server."""

    server: servers.Running
    operator: Process
    bench: Bench

    def working(self) -> tuple[float, float, float]:
        """Seconds of processor time so far: of the operator, of the server, of all that is not measured here."""
        operator, server = self.operator.used(), self.server.processor_seconds()
        return operator, server, machine.busy() - operator - server - time.process_time()


def measure(contender: Contender, server: str, size: int, idle: float) -> Figures:
    with SERVERS[server]() as running:
        asyncio.run(joblife.prepare(running.kubeconfig, contender))
        with contenders.running(contender, running.kubeconfig) as process:
            return asyncio.run(_measured(contender, running, process, size, idle))


async def _measured(
    contender: Contender, running: servers.Running, process: Process, size: int, idle: float
) -> Figures:
    figures: Figures = {}
    async with joblife.connected(running.kubeconfig, contender) as bench:
        await bench.submit(["first"])  # until it is elected and what is loaded once is loaded
        setting = Setting(running, process, bench)
        await _settled(setting)
        await _many(figures, setting, size)
        if size == RESIZED:
            await _changes(figures, setting)
            await _idle(figures, setting, idle)
    return figures


async def _many(figures: Figures, setting: Setting, size: int) -> None:
    what = f"{size:,} jobs at once"
    writes_before = await setting.bench.writes()
    before = setting.working()
    accepted, there = await setting.bench.submit([f"job-{number}" for number in range(size)])
    others = setting.working()[2] - before[2]
    figures[f"{what}, jobs/s"] = size / there
    # Rates can be compared only where this is small; processor time per job is nearly the same on a busy machine.
    figures[f"{what}, processors used by anything else %"] = others / there / (os.cpu_count() or 1) * 100
    figures[f"{what}, s until accepted"] = accepted
    await _settled(setting)
    operator, server, _ = (new - old for new, old in zip(setting.working(), before, strict=True))
    figures[f"{what}, processor time of the operator per job ms"] = operator / size * 1000
    figures[f"{what}, processor time of the server per job ms"] = server / size * 1000
    figures |= _counted(f"{what},", "job", writes_before, await setting.bench.writes(), {"POST mpijobs": size})
    figures[f"{what}, peak memory MB"] = setting.operator.peak()
    figures[f"{what}, complaints in its log"] = setting.operator.complaints()


Writes = dict[str, float] | None


def _counted(what: str, each: str, before: Writes, after: Writes, asked: dict[str, int]) -> Figures:
    """Writes for each job or change that was asked for, without the requests that asked for them.

    Those are subtracted by number: a server that counts a status under its object's name must not hide it.
    """
    if before is None or after is None:
        return {}
    count = sum(asked.values())
    new = {name: (value - before.get(name, 0) - asked.get(name, 0)) / count for name, value in after.items()}
    found = {f"{what} writes per {each}": sum(new.values())}
    return found | {f"{what} {name} per {each}": share for name, share in new.items() if share > 0.05}


async def _changes(figures: Figures, setting: Setting) -> None:
    times = []
    for number in range(CHANGES):
        times.append(await setting.bench.grow([f"job-{number}"]) * 1000)
        await asyncio.sleep(PAUSE)
    figures["replica change to new pod, p50 ms"] = statistics.median(times)
    figures["replica change to new pod, p99 ms"] = at(times, 0.99)
    await _settled(setting)
    before, worked = await setting.bench.writes(), setting.working()
    names = [f"job-{number}" for number in range(CHANGES, CHANGES + AT_ONCE)]
    figures[f"{AT_ONCE} replica changes at once s"] = await setting.bench.grow(names)
    await _settled(setting)
    operator, server, _ = (new - old for new, old in zip(setting.working(), worked, strict=True))
    figures["replica change, processor time of the operator ms"] = operator / AT_ONCE * 1000
    figures["replica change, processor time of the server ms"] = server / AT_ONCE * 1000
    figures |= _counted("replica change,", "change", before, await setting.bench.writes(), {"PATCH mpijobs": AT_ONCE})


async def _idle(figures: Figures, setting: Setting, seconds: float) -> None:
    await _settled(setting)
    before, began = setting.operator.used(), time.perf_counter()
    await asyncio.sleep(seconds)
    share = (setting.operator.used() - before) / (time.perf_counter() - began)
    figures["processor of the idle operator %"] = share * 100


async def _settled(setting: Setting) -> None:
    """Until the operator has done what comes after the pods, such as status and events."""
    quiet = 0
    for _ in range(60):
        before = setting.operator.used()
        await asyncio.sleep(0.5)
        quiet = quiet + 1 if setting.operator.used() - before < QUIET / 2 else 0
        if quiet == 4:
            return


def table(found: dict[str, Figures]) -> str:
    names = dict.fromkeys(name for figures in found.values() for name in figures)
    rows = [["", *found, "aim"]]
    rows += [[name, *(shown(figures.get(name)) for figures in found.values()), AIMS.get(name, "")] for name in names]
    return machine.table(rows)


def runs(server: str) -> Iterator[tuple[int, Contender]]:
    """Who is measured on a server with how many jobs: those to be compared one after the other."""
    real = server == "kube-apiserver"
    ours, older, lifted = contenders.ours(), contenders.ours("v1"), contenders.other()
    limited = contenders.other(limited=True) if real else None
    for size in SIZES if real else SIZES[:2]:
        yield size, ours
        if lifted and (real or size == RESIZED):
            yield size, lifted
        if size == RESIZED:
            yield size, older
    if limited:
        yield LIMITED, limited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="500 jobs only, and a short look at the idle operator")
    parser.add_argument("--server", choices=(*SERVERS, PODS))
    parser.add_argument("--only", help="the column of this name")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    arguments = parser.parse_args()
    loads = [os.getloadavg()[0]]
    found: dict[str, dict[str, Figures]] = {}
    for server in [arguments.server] if arguments.server else (*SERVERS, PODS):
        figures = found[server] = {}
        if server == PODS:
            print("springtide with pods ...", flush=True)
            figures["springtide v1"] = asyncio.run(hostlists.measure())
            continue
        for size, contender in runs(server):
            if arguments.only not in (None, contender.name) or (arguments.quick and size not in (RESIZED, LIMITED)):
                continue
            print(f"{contender.name} on {server}, {size:,} jobs ...", flush=True)
            new = measure(contender, server, size, IDLE / 4 if arguments.quick else IDLE)
            figures.setdefault(contender.name, {}).update(new)
            loads.append(os.getloadavg()[0])
    about = {"machine": machine.described(), "load_average": {"before": loads[0], "after_each": loads[1:]}}
    print(json.dumps(about, indent=2))
    for server, figures in found.items():
        print(f"\n{server}\n\n{table(figures)}")
    if arguments.json:
        arguments.json.write_text(json.dumps({**about, "figures": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
