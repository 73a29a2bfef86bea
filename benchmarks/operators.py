# SPDX-License-Identifier: Apache-2.0
"""Our operator beside Kubeflow's: the same jobs on the same API server, on the same machine, in one run.

    make bench-operator
    python benchmarks/operators.py --kind PyTorchJob --kind TFJob      beside SPRINGTIDE_TRAINING_OPERATOR
    python benchmarks/operators.py --kind MPIJob                       beside SPRINGTIDE_OTHER_OPERATOR
    python benchmarks/operators.py --kind TrainingJob                  beside our own MPIJobs
    python benchmarks/operators.py --quick --only "springtide v2beta1"
    python benchmarks/operators.py --server pods                       our operator with real pods alone

Every figure of a column comes from operators and servers that were started for it alone. The servers have no nodes, and
kube-apiserver no controllers, except where the server's name says that it has: an operator's pods are created and stay
as they are, so nothing but it and the server works. Nothing here is a test: figures depend on the machine and on who
else is using it, so both are written down.

It is not called `operator`, because a script's folder comes before the standard library, which has an `operator`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import contenders
import hostlists
import joblife
import machine
import servers
import workloads
from contenders import Contender, Process
from joblife import Bench
from machine import Figures, at, shown
from workloads import Workload

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
"""Of MPIJobs."""
REPLICA_AIMS = {
    "replica change to new pod, p50 ms": "at most 15",
    "500 jobs at once, peak memory MB": "at most theirs",
    "1,000 jobs at once, complaints in its log": "none",
    "processor of the idle operator %": "less than 1",
}
"""Of PyTorchJobs and TFJobs."""
RATES = "jobs at once, jobs/s"
PER_WRITE = "processor time of the operator per write ms"
TRAINING_AIMS = {f"{RESIZED:,} jobs at once, {PER_WRITE}": "at most 1.1 times that of MPIJobs"}
OWN_AIMS: dict[str, Mapping[str, str]] = {"MPIJob": AIMS, "TrainingJob": TRAINING_AIMS}
TIMES_THEIRS = {"kube-apiserver": "at least 1.4 times theirs", "kube-apiserver, controllers": "at least theirs"}
"""What their rates are to be, by server."""

PODS = "pods"
"""Not a server for all: `tide up` as it is, with our operator and pods that run."""
SERVERS: dict[str, Callable[[], AbstractContextManager[servers.Running]]] = {
    "kube-apiserver": servers.real,
    "kube-apiserver, controllers": partial(servers.real, bare=False),
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


@dataclass(frozen=True)
class Run:
    """One operator on one server."""

    contender: Contender
    size: int
    """Jobs at once."""
    also: bool
    """Whether changes of replicas, and the idle operator, are measured as well."""


def measure(run: Run, server: str, idle: float) -> Figures:
    with SERVERS[server]() as running:
        asyncio.run(joblife.prepare(running.kubeconfig, run.contender))
        with contenders.running(run.contender, running.kubeconfig) as process:
            return asyncio.run(_measured(run, running, process, idle))


async def _measured(run: Run, running: servers.Running, process: Process, idle: float) -> Figures:
    figures: Figures = {}
    async with joblife.connected(running.kubeconfig, run.contender) as bench:
        await bench.submit(["first"])  # until it is elected and what is loaded once is loaded
        setting = Setting(running, process, bench)
        await _settled(setting)
        await _many(figures, setting, run)
        if run.also and run.contender.workload.resized:
            await _changes(figures, setting, run)
        if run.also:
            await _idle(figures, setting, idle)
    return figures


async def _many(figures: Figures, setting: Setting, run: Run) -> None:
    size, asked = run.size, {f"POST {run.contender.workload.resource.plural}": run.size}
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
    figures |= _counted(f"{what},", "job", writes_before, await setting.bench.writes(), asked)
    if writes := figures.get(f"{what}, writes per job"):
        figures[f"{what}, {PER_WRITE}"] = operator / size / writes * 1000
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


async def _changes(figures: Figures, setting: Setting, run: Run) -> None:
    times, changes = [], min(CHANGES, run.size // 2)
    for number in range(changes):
        times.append(await setting.bench.grow([f"job-{number}"]) * 1000)
        await asyncio.sleep(PAUSE)
    figures["replica change to new pod, p50 ms"] = statistics.median(times)
    figures["replica change to new pod, p99 ms"] = at(times, 0.99)
    await _settled(setting)
    before, worked = await setting.bench.writes(), setting.working()
    names = [f"job-{number}" for number in range(changes, min(changes + AT_ONCE, run.size))]
    figures[f"{len(names)} replica changes at once s"] = await setting.bench.grow(names)
    await _settled(setting)
    operator, server, _ = (new - old for new, old in zip(setting.working(), worked, strict=True))
    figures["replica change, processor time of the operator ms"] = operator / len(names) * 1000
    figures["replica change, processor time of the server ms"] = server / len(names) * 1000
    asked = {f"PATCH {run.contender.workload.resource.plural}": len(names)}
    figures |= _counted("replica change,", "change", before, await setting.bench.writes(), asked)


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


def table(found: dict[str, Figures], aims: Mapping[str, str]) -> str:
    names = dict.fromkeys(name for figures in found.values() for name in figures)
    rows = [["", *found, "aim"]]
    rows += [[name, *(shown(figures.get(name)) for figures in found.values()), aims.get(name, "")] for name in names]
    return machine.table(rows)


def aims(kind: str, server: str) -> Mapping[str, str]:
    if kind in OWN_AIMS:
        return OWN_AIMS[kind]
    rate = TIMES_THEIRS.get(server)
    return REPLICA_AIMS | ({f"{size:,} {RATES}": rate for size in SIZES} if rate else {})


def compared(found: dict[str, Figures]) -> Iterator[str]:
    """Our rates by theirs, where both were measured; what a write of TrainingJobs costs by what it costs of MPIJobs."""
    ours, theirs = found.get("springtide", {}), found.get("other, no limits", {})
    for name in ours:
        if name.endswith(RATES) and name in theirs:
            yield f"{name}: {ours[name] / theirs[name]:.2f} times theirs"
    for other, name in product(("springtide v1", "springtide v2beta1"), ours):
        if name.endswith(PER_WRITE) and name in found.get(other, {}):
            yield f"{name}: {ours[name] / found[other][name]:.2f} times that of {other}"


def mpi_runs(server: str, sizes: Sequence[int]) -> Iterator[Run]:
    """Who is measured on a server with how many jobs: those to be compared one after the other."""
    real, newer = server == "kube-apiserver", workloads.mpijobs()
    ours, older, lifted = contenders.ours(newer), contenders.ours(workloads.mpijobs("v1")), contenders.other(newer)
    for size in sizes if real else sizes[:2] if server == "embedded" else ():
        also = size == resized(sizes)
        yield Run(ours, size, also)
        if lifted and (real or also):
            yield Run(lifted, size, also)
        if also:
            yield Run(older, size, also)
    if real and (limited := contenders.other(newer, limited=True)):
        yield Run(limited, LIMITED, also=False)


def replica_runs(workload: Workload, server: str, sizes: Sequence[int]) -> Iterator[Run]:
    """The same for a kind whose replicas keep their names; theirs works on kube-apiserver alone."""
    real, ours, lifted = server.startswith("kube-apiserver"), contenders.ours(workload), contenders.other(workload)
    for size in sizes if server == "kube-apiserver" else (resized(sizes),):
        yield Run(ours, size, size == resized(sizes))
        if lifted and real:
            yield Run(lifted, size, size == resized(sizes))
    if server == "kube-apiserver" and (limited := contenders.other(workload, limited=True)):
        yield Run(limited, LIMITED, also=False)


def training_runs(server: str, sizes: Sequence[int]) -> Iterator[Run]:
    """Beside our own MPIJobs: the Go et-operator cannot be fetched. The server that counts writes is measured."""
    measured = (workloads.trainingjobs(), workloads.mpijobs("v1"), workloads.mpijobs())
    for size in sizes if server == "kube-apiserver" else ():
        for workload in measured:
            yield Run(contenders.ours(workload), size, size == resized(sizes))


def resized(sizes: Sequence[int]) -> int:
    return RESIZED if RESIZED in sizes else sizes[0]


RUNS: dict[str, Callable[[str, Sequence[int]], Iterator[Run]]] = {
    "MPIJob": mpi_runs,
    "PyTorchJob": partial(replica_runs, workloads.pytorchjobs()),
    "TFJob": partial(replica_runs, workloads.tfjobs()),
    "TrainingJob": training_runs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="500 jobs only, and a short look at the idle operator")
    parser.add_argument("--jobs", type=int, help="so many jobs instead: to see that it works")
    parser.add_argument("--kind", action="append", choices=RUNS, help="jobs of this kind; may be given several times")
    parser.add_argument("--server", action="append", choices=(*SERVERS, PODS), help="may be given several times")
    parser.add_argument("--only", help="the column of this name")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    arguments = parser.parse_args()
    sizes = [arguments.jobs] if arguments.jobs else [RESIZED] if arguments.quick else SIZES
    idle = IDLE / 4 if arguments.quick or arguments.jobs else IDLE
    loads = [os.getloadavg()[0]]
    found: dict[str, dict[str, Figures]] = {}
    for kind, server in product(arguments.kind or RUNS, arguments.server or SERVERS):
        if server == PODS:
            continue
        figures = found.setdefault(f"{kind} on {server}", {})
        for run in RUNS[kind](server, sizes):
            if arguments.only in (None, run.contender.name):
                print(f"{run.contender.name} on {server}, {run.size:,} {kind}s ...", flush=True)
                figures.setdefault(run.contender.name, {}).update(measure(run, server, idle))
                loads.append(os.getloadavg()[0])
        print(
            f"\n{kind} on {server}\n\n{table(figures, aims(kind, server))}\n", *compared(figures), sep="\n", flush=True
        )
    if PODS in (arguments.server or ()) or not (arguments.server or arguments.kind or arguments.only):
        print("springtide with pods ...", flush=True)
        found[PODS] = {"springtide v1": asyncio.run(hostlists.measure())}
        print(f"\n{table(found[PODS], AIMS)}")
    about = {"machine": machine.described(), "load_average": {"before": loads[0], "after_each": loads[1:]}}
    print(json.dumps(about, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps({**about, "figures": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
