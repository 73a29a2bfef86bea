# SPDX-License-Identifier: Apache-2.0
"""`make demo`: workers that train together grow onto a spot node while it is there, and give it back in time.

Everything is done as you would do it: `tide` commands, the manifest in examples/workers, the Kubernetes API. The
cluster lives in a temporary directory and is gone at the end.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing, suppress
from pathlib import Path

import yaml

from springtide.kube import request
from springtide.kube.client import Client
from springtide.kube.errors import ApiError
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, JOBS, PODS, SERVICES, Key, Obj
from springtide.kube.watch import Change, Decoder, watch

WORKERS = Path(__file__).parent / "workers"
NAME = Key("default", "workers")
SPOT = "spot-b"
SCRIPT = Key("default", "worker")


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", flush=True)


async def tide(*arguments: str) -> str:
    """A `tide` command, shown as one would type it but for the directory."""
    say(f"$ tide {shlex.join(arguments)}")
    options = ["--data-dir", str(Path(SCRATCH.name) / "demo")]
    command = [sys.executable, "-m", "springtide.cli", *arguments, *options]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr or done.stdout)
    return done.stdout


async def main() -> None:
    said = await tide("up", "-d", "--port", "0", "--node", "node-a=cpu:2")
    try:
        for note in re.findall("^! .*", said, re.MULTILINE):
            say(note)
            if "share this machine's network" in note:
                say("! so there are no names of services, and each worker trains alone")
        async with await Client.connect(str(Path(SCRATCH.name) / "demo" / "kubeconfig")) as client:
            await Demo(client).run()
    finally:
        await tide("down", "--grace", "0")
    say("the cluster is gone. For one of your own: .venv/bin/tide up")


class Demo:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._training: set[str] = set()
        """The pods that have told of a step and are still there."""
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        say("two workers train together; all listen on one port and find each other by the name of a service")
        await self._submit()
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._follow_pods(group))
            await self._until(2)
            say("capacity is idle: two more workers, while the others train on")
            await tide("node", "add", f"{SPOT}=cpu:2,spot")
            await self._resize(4)
            say("the spot node is wanted back: two workers less, in good time")
            await tide("node", "reclaim", SPOT, "--notice", "5s", "--no-wait")
            await self._resize(2)
            say("that is enough: the workers read the number of steps in a mounted ConfigMap")
            await self._client.patch(CONFIGMAPS, SCRIPT, {"data": {"steps": "40"}})
            job = await self._finished()
            following.cancel()
        say(f"{job['status']['succeeded']} workers have completed the job; nothing that was learnt got lost")

    async def _resize(self, workers: int) -> None:
        """As `kubectl patch job` does."""
        await self._client.patch(JOBS, NAME, {"spec": {"parallelism": workers, "completions": workers}})
        await self._until(workers)

    async def _submit(self) -> None:
        """What `kubectl create configmap` and `kubectl apply` would do."""
        data = {"worker.py": (WORKERS / "worker.py").read_text(), "steps": "1000"}
        await self._client.create(CONFIGMAPS, CONFIGMAPS.describe(SCRIPT) | {"data": data})
        manifests = yaml.safe_load_all((WORKERS / "workers.yaml").read_text())
        for resource, manifest in zip((SERVICES, JOBS), manifests, strict=True):
            manifest["metadata"]["namespace"] = NAME.namespace
            await self._client.create(resource, manifest)

    async def _until(self, count: int) -> None:
        """So many workers train."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._training) == count)

    async def _change(self, training: set[str]) -> None:
        async with self._changed:
            self._training = training
            self._changed.notify_all()

    async def _finished(self) -> Obj:
        async with aclosing(watch(self._client, JOBS, Scope(NAME.namespace), Decoder[Obj](dict, JOBS))) as events:
            async for event in events:
                conditions = event.object["status"].get("conditions") or () if isinstance(event, Change) else ()
                ended = {one["type"] for one in conditions if one["status"] == "True"}
                if "Failed" in ended:
                    raise SystemExit(f"the workers failed: {conditions}")
                if "Complete" in ended and isinstance(event, Change):
                    return dict(event.object)
        raise AssertionError("a watch does not end by itself")

    async def _follow_pods(self, group: asyncio.TaskGroup) -> None:
        known: set[str] = set()
        async with aclosing(watch(self._client, PODS, Scope(NAME.namespace), Decoder[Obj](dict, PODS))) as events:
            async for event in events:
                if not isinstance(event, Change):
                    continue
                pod = event.object
                if event.type == "DELETED":
                    show(pod, "has left")
                    await self._change(self._training - {pod["metadata"]["uid"]})
                elif pod["status"]["phase"] != "Pending" and pod["metadata"]["uid"] not in known:
                    known.add(pod["metadata"]["uid"])
                    group.create_task(self._follow(pod))

    async def _follow(self, pod: Obj) -> None:
        """Its log, as `kubectl logs -f` has it, for as long as the pod is there."""
        log = self._client.lines(request.get(PODS, Key.of(pod), "log", {"follow": "true"}))
        with suppress(ApiError):  # its node may go at any moment
            async with aclosing(log) as lines:
                async for line in lines:
                    show(pod, line.decode())
                    if line.startswith(b"step"):
                        await self._change(self._training | {pod["metadata"]["uid"]})


def show(pod: Obj, text: str) -> None:
    index = pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]
    say(f"  worker {index} on {pod['spec']['nodeName']:<6} | {text}")


BEGAN = time.monotonic()
SCRATCH = tempfile.TemporaryDirectory(prefix="springtide-demo-")
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # not without cleaning up
    with SCRATCH:
        asyncio.run(main())
