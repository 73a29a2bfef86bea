# SPDX-License-Identifier: Apache-2.0
"""How long commands take, beside kubectl and Arena's own program: the same jobs, the same servers, one run.

    make bench-cli
    python benchmarks/cli.py --jobs 50 --rounds 1        to see that it works

A thousand TrainingJobs with three pods each are on the server, with the statuses that the operator would have written;
no operator runs. Each command is run several times in changing order; the table shows medians of its time and the most
memory that it ever had.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import machine
import servers
from machine import shown

from springtide.kube.client import Client
from springtide.kube.resources import CONFIGMAPS, PODS, Key, Obj, Resource

ROOT = Path(__file__).parent.parent
JOBS = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")
NAMESPACE = "default"
PER_JOB = 3
AT_ONCE = 50
SETTLE = 20.0
"""Seconds until commands are run: controllers and the scheduler have seen all pods by then."""
BIN = Path(sys.executable).parent
MEASURING = """
import json, os, sys, time
nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
began = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing)
_, code, used = os.wait4(process, 0)
print(json.dumps([time.perf_counter() - began, used.ru_maxrss]))
sys.exit(os.waitstatus_to_exitcode(code))
"""
"""A process of its own, because Linux counts what the starting process takes as the started one's memory."""
SERVERS = {"embedded": servers.embedded, "kube-apiserver": partial(servers.real, bare=False)}


@dataclass(frozen=True)
class Command:
    name: str
    words: tuple[str, ...]
    aim: str = ""
    fails_on: str = ""
    """The server that lacks what it asks for: Arena's own `get` lists StatefulSets."""


@dataclass(frozen=True)
class Run:
    seconds: float
    megabytes: float


def commands(tools: Path, arena: Path | None) -> tuple[Command, ...]:
    """Each of ours stands before what it is compared with."""
    tide, ours, kubectl = str(BIN / "tide"), str(BIN / "arena"), str(tools / "kubectl")
    found = [
        Command("tide --help", (tide, "--help"), "at most 0.10 s"),
        Command("arena --help", (ours, "--help")),
        Command("kubectl --help", (kubectl, "--help")),
        Command("tide list", (tide, "list"), "at most 0.40 s"),
        Command("arena list", (ours, "list")),
        Command("kubectl get trainingjobs", (kubectl, "get", "trainingjobs")),
        Command("tide get JOB", (tide, "get", "job-0"), "at most 0.25 s"),
        Command("arena get JOB", (ours, "get", "job-0")),
        Command("kubectl get trainingjob JOB", (kubectl, "get", "trainingjob", "job-0")),
    ]
    if arena is not None:
        found += [
            Command("Arena's own list", (str(arena), "list")),
            Command("Arena's own get", (str(arena), "get", "job-0", "--type", "etjob"), fails_on="embedded"),
        ]
    return tuple(found)


def job(index: int) -> Obj:
    name = f"job-{index}"
    labels = {"app": "etjob", "release": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "et", "image": "train"}]}}
    worker = {"replicas": PER_JOB - 1, "minReplicas": 1, "maxReplicas": 9, "template": template}
    roles = {"launcher": {"replicas": 1, "template": template}, "worker": worker}
    described = JOBS.describe(Key(NAMESPACE, name))
    described["metadata"]["labels"] = labels
    return described | {"spec": {"etReplicaSpecs": roles}}


def status(index: int) -> Obj:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    condition = {
        "type": "Running",
        "status": "True",
        "reason": "TrainingJobRunning",
        "message": f"TrainingJob {NAMESPACE}/job-{index} is running.",
        "lastTransitionTime": now,
        "lastUpdateTime": now,
    }
    workers = PER_JOB - 1
    return {
        "phase": "Running",
        "state": "Running",
        "workers": f"{workers}/{workers}",
        "replicas": workers,
        "startTime": now,
        "conditions": [condition],
    }


def pod(index: int, number: int) -> Obj:
    role = "worker" if number else "launcher"
    name = f"job-{index}-worker-{number - 1}" if number else f"job-{index}-launcher"
    labels = {"app": "etjob", "release": f"job-{index}", "group-name": JOBS.group, "training-job-role": role}
    described = PODS.describe(Key(NAMESPACE, name))
    described["metadata"]["labels"] = labels | {"training-job-name": f"job-{index}"}
    return described | {"spec": {"containers": [{"name": "et", "image": "train"}]}}


async def fill(kubeconfig: str, jobs: int) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def create(client: Client, index: int) -> None:
        async with gate:
            await client.create(JOBS, job(index))
            await client.patch(JOBS, Key(NAMESPACE, f"job-{index}"), {"status": status(index)}, subresource="status")
            for number in range(PER_JOB):
                await client.create(PODS, pod(index, number))
                key = Key(NAMESPACE, pod(index, number)["metadata"]["name"])
                await client.patch(PODS, key, {"status": {"phase": "Running"}}, subresource="status")

    async with await Client.connect(kubeconfig) as client:
        await client.create(CONFIGMAPS, CONFIGMAPS.describe(Key(NAMESPACE, "kept-for-arena")))
        await asyncio.gather(*(create(client, index) for index in range(jobs)))


@contextmanager
def filled(server: AbstractContextManager[servers.Running], tools: Path, jobs: int) -> Iterator[dict[str, str]]:
    """The variables that lead commands to a server with the jobs."""
    with server as running:
        environment = {**os.environ, "KUBECONFIG": running.kubeconfig, "LANG": "C.UTF-8"}
        crds = [str(tools / "kubectl"), "apply", "--server-side", "-f", str(ROOT / "deploy/crds")]
        subprocess.run(crds, env=environment, check=True, capture_output=True)
        established = [str(tools / "kubectl"), "wait", "--for=condition=Established", "crd", "--all"]
        subprocess.run(established, env=environment, check=True, stdout=subprocess.DEVNULL)
        asyncio.run(fill(running.kubeconfig, jobs))
        time.sleep(SETTLE)
        yield environment


def run(command: Command, environment: dict[str, str]) -> Run:
    words = [sys.executable, "-ISc", MEASURING, *command.words]
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command.name}: {done.returncode}: {done.stderr.decode()}")
    seconds, kilobytes = json.loads(done.stdout)
    return Run(seconds, kilobytes / 1024)


def measured(contenders: Sequence[Command], environment: dict[str, str], rounds: int) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {command.name: [] for command in contenders}
    for command in contenders:
        run(command, environment)  # once for nothing: files are read from the disk, byte code is written
    for number in range(rounds):
        for command in contenders if number % 2 == 0 else tuple(reversed(contenders)):
            found[command.name].append(run(command, environment))
    return found


def rows(contenders: Sequence[Command], found: dict[str, dict[str, list[Run]]]) -> Iterator[list[str]]:
    yield ["command", *(f"{server} {unit}" for server in found for unit in ("s", "MB")), "aim"]
    for command in contenders:
        figures = []
        for runs in found.values():
            of_this = runs.get(command.name)
            figures.append(shown(statistics.median(each.seconds for each in of_this) if of_this else None))
            figures.append(shown(max(each.megabytes for each in of_this) if of_this else None))
        yield [command.name, *figures, command.aim]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--server", action="append", choices=SERVERS, help="may be given several times")
    parser.add_argument("--arena", type=Path, help="Arena's own program, to be measured too")
    arguments = parser.parse_args()
    tools = Path(os.environ.get("SPRINGTIDE_TOOLS") or Path(shutil.which("kubectl") or "kubectl").parent)
    contenders = commands(tools, arguments.arena)
    found: dict[str, dict[str, list[Run]]] = {}
    for name in arguments.server or SERVERS:
        print(f"{arguments.jobs:,} jobs on {name} ...", flush=True)
        with filled(SERVERS[name](), tools, arguments.jobs) as environment:
            able = [command for command in contenders if command.fails_on != name]
            found[name] = measured(able, environment, arguments.rounds)
    print(json.dumps({"machine": machine.described(), "load_average": os.getloadavg()[0]}, indent=2))
    print(machine.table(list(rows(contenders, found))))


if __name__ == "__main__":
    main()
