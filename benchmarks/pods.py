# SPDX-License-Identifier: Apache-2.0
"""How fast pods come, go and answer under `tide up`, and what they cost.

    make bench-pods
    python benchmarks/pods.py --rounds 1 --quick

Every round starts a cluster with one node of its own; the table shows medians over the rounds. The floor is what the
machine itself takes for the same: the program started without a pod, kubectl asking for nothing. Nothing here is a
test: figures depend on the machine and on who else is using it, so both are written down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import time
from pathlib import Path

import clusters
import machine
import podlife
from machine import Figures, at, shown
from podlife import Bench

AIMS = {
    "bind to running, p50 ms": "at most 50",
    "pods started /s": "at least 20",
    "pods stopped /s": "at least 20",
    "memory of the agent MB": "at most 100",
    "memory per shim MB": "at most 12",
    "exec, p50 ms": "at most 100",
    "exec by the built-in kubectl, p50 ms": "at most 100",
    "exec by kubectl, p50 ms": "at most 100",
    "log line, p50 ms": "at most 100",
    "log line by kubectl, p50 ms": "at most 100",
}
FLOORS = {
    "bind to running, p50 ms": "fork and exec, p50 ms",
    "exec by kubectl, p50 ms": "kubectl without exec, p50 ms",
}
"""Which other figure a figure stands beside."""


async def measure(cluster: clusters.Cluster, kubectl: str | None, share: float) -> Figures:
    """All figures of one freshly started cluster, from this share of the pods."""
    figures: Figures = {"tide up s": cluster.up_after}
    figures |= {f"tide up, processor time of {name} s": used for name, used in cluster.processor_seconds().items()}
    _spread(figures, "fork and exec", podlife.forked(50))
    async with podlife.connected(str(cluster.directory.kubeconfig)) as bench:
        await bench.run("first", podlife.IDLE)  # what is loaded once is loaded now
        await _latency(figures, bench, int(100 * share))
        await _crowd(figures, cluster, bench, int(200 * share))
        await _commands(figures, bench, cluster.directory.kubeconfig, kubectl, int(40 * share))
        await _logs(figures, bench, cluster.directory.kubeconfig, kubectl, int(100 * share))
    return figures


def _spread(figures: Figures, what: str, seconds: list[float]) -> None:
    figures[f"{what}, p50 ms"] = statistics.median(seconds) * 1000
    figures[f"{what}, p99 ms"] = at(seconds, 0.99) * 1000


async def _latency(figures: Figures, bench: Bench, count: int) -> None:
    """One pod at a time, by a binding that is sent here, so that its moment is known."""
    by_binding, by_scheduler = [], []
    for number in range(count):
        bound, chosen = f"bound-{number}", f"chosen-{number}"
        await bench.create(podlife.pod(bound, podlife.IDLE, schedulerName="bench"))
        began = time.time()
        await bench.bind(bound)
        await bench.seen.all([bound], "Running")
        by_binding.append((await bench.words(bound))[0][0] - began)
        began = time.time()
        await bench.run(chosen, podlife.IDLE)
        by_scheduler.append((await bench.words(chosen))[0][0] - began)
        await bench.remove([bound, chosen])
    _spread(figures, "bind to running", by_binding)
    _spread(figures, "create to running", by_scheduler)


async def _crowd(figures: Figures, cluster: clusters.Cluster, bench: Bench, count: int) -> None:
    """Many pods at once, started and stopped; meanwhile, what they cost."""
    names = [f"crowd-{number}" for number in range(count)]
    before = cluster.processor_seconds()
    began = time.time()
    await _in_parallel(bench, names)
    figures["pods started /s"] = count / (await bench.seen.all(names, "Running") - began)
    _costs(figures, "start", before, cluster.processor_seconds(), count)
    await asyncio.sleep(8)  # until all events are told
    figures["memory of the agent MB"] = machine.resident(cluster.processes["agent"])
    figures["memory of the server MB"] = machine.resident(cluster.processes["server"])
    shims = cluster.shims()
    figures["memory per shim MB"] = statistics.mean(machine.resident(pid) for pid in shims)
    figures["memory per shim, shared counted once MB"] = statistics.mean(machine.proportional(pid) for pid in shims)
    inits = [child for pid in shims for child in machine.children(pid)]
    figures["memory per init, shared counted once MB"] = statistics.mean(machine.proportional(pid) for pid in inits)
    before = cluster.processor_seconds()
    began = time.time()
    await asyncio.sleep(5)
    after = cluster.processor_seconds()
    share = sum(after.values()) - sum(before.values())
    figures[f"processor of a cluster with {count} idle pods %"] = share / (time.time() - began) * 100
    before = after
    began = time.time()
    await bench.stop_all()
    figures["pods stopped /s"] = count / (await bench.seen.all(names, "Gone") - began)
    _costs(figures, "stop", before, cluster.processor_seconds() | {"shims": before["shims"]}, count)


def _costs(figures: Figures, what: str, before: Figures, after: Figures, count: int) -> None:
    for name, seconds in after.items():
        if seconds > before[name]:
            figures[f"{what}, processor time of {name} per pod ms"] = (seconds - before[name]) / count * 1000


async def _in_parallel(bench: Bench, names: list[str]) -> None:
    async def some(part: list[str]) -> None:
        for name in part:
            await bench.create(podlife.pod(name, podlife.IDLE))

    lanes = podlife.CONNECTIONS
    await asyncio.gather(*(some(names[lane::lanes]) for lane in range(lanes)))


async def _commands(figures: Figures, bench: Bench, kubeconfig: Path, kubectl: str | None, count: int) -> None:
    await bench.run("target", podlife.IDLE)
    _spread(figures, "exec", [await bench.execute("target", "true") for _ in range(count)])
    await bench.allow_all()
    script = podlife.COMMAND.format(count=count, command="/run/springtide/bin/kubectl exec target -- true")
    await bench.run("launcher", script, phase="Succeeded")
    spans = [end - begin for begin, end in await bench.words("launcher")]
    _spread(figures, "exec by the built-in kubectl", spans)
    if kubectl:
        base = [kubectl, "--kubeconfig", str(kubeconfig)]
        _spread(figures, "kubectl without exec", await podlife.timed([*base, "get", "--raw", "/readyz"], count))
        _spread(figures, "exec by kubectl", await podlife.timed([*base, "exec", "target", "--", "true"], count))
    await bench.remove(["target", "launcher"])


async def _logs(figures: Figures, bench: Bench, kubeconfig: Path, kubectl: str | None, count: int) -> None:
    await bench.run("ticking", podlife.TICKING)
    _spread(figures, "log line", await bench.follow_log("ticking", count))
    if kubectl:
        command = [kubectl, "--kubeconfig", str(kubeconfig), "logs", "-f", "--tail=1", "ticking"]
        _spread(figures, "log line by kubectl", await podlife.delayed(command, count))
    await bench.remove(["ticking"])


def table(figures: Figures) -> str:
    floors = set(FLOORS.values())
    rows = [["", "pods", "floor", "aim"]]
    for name, value in figures.items():
        if name not in floors:
            floor = figures.get(FLOORS.get(name, ""))
            rows.append([name, shown(value), shown(floor), AIMS.get(name, "")])
    return machine.table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the pods, to see that it works")
    parser.add_argument("--kubectl", default=_kubectl(), help="a stock one; without it, what it would do is left out")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    arguments = parser.parse_args()
    rounds: list[Figures] = []
    loads = [os.getloadavg()[0]]
    with clusters.embedded():  # once for nothing: the first start after an installation writes the byte code
        pass
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds} ...", flush=True)
        with clusters.embedded() as cluster:
            rounds.append(asyncio.run(measure(cluster, arguments.kubectl, 1 / 10 if arguments.quick else 1)))
        loads.append(os.getloadavg()[0])
    found = machine.medians(rounds)
    about = {
        "machine": machine.described(),
        "user": "root" if os.geteuid() == 0 else "ordinary",
        "load_average": {"before": loads[0], "after_each_round": loads[1:]},
    }
    print(json.dumps(about, indent=2))
    print(table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps({**about, "medians": found, "rounds": rounds}, indent=2) + "\n")


def _kubectl() -> str | None:
    tools = os.environ.get("SPRINGTIDE_TOOLS")
    return str(Path(tools) / "kubectl") if tools else shutil.which("kubectl")


if __name__ == "__main__":
    main()
