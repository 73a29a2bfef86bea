# SPDX-License-Identifier: Apache-2.0
"""`make demo`: training goes on while its workers come, die and go.

An MPIJob learns to read digits with two workers, grows onto a spot node, loses a worker, shrinks to one and ends.
Everything is done as you would do it: `tide` commands, the manifest in examples/elastic, the Kubernetes API. The
cluster lives in a temporary directory and is gone at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from live_view import View
from training_log import Training, workers

from springtide.kube import request
from springtide.kube.client import Client
from springtide.kube.errors import ApiError
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import CONFIGMAPS, PODS, Key, Obj, Resource
from springtide.views.logs.loss_curve import curve

ELASTIC = Path(os.path.relpath(__file__)).parent / "elastic"
MANIFEST = ELASTIC / "digits.yaml"
MPIJOBS = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")
KINDS = {resource.kind: resource for resource in (CONFIGMAPS, MPIJOBS)}
NAME, LAUNCHER = Key("default", "digits"), Key("default", "digits-launcher")
SPOT, VICTIM = "spot-b", Key("default", "digits-worker-1")
IMAGE = ("--image", "example/digits:*", "--files", f"{ELASTIC}:/examples")
WATCH = 4.0
"""Seconds to look at each size."""
PATIENCE = 120.0
"""Seconds until something has to have happened: machines may be busy."""
LONGEST = 300.0
"""Seconds; it takes less than one minute otherwise."""
WIDEST = 100
"""Characters of the picture."""


class FailedError(Exception):
    """The demo cannot go on, and the message says why."""


class Tide:
    """The `tide` command, with a directory of its own. Your clusters and environments are none of our business."""

    def __init__(self, scratch: Path, view: View) -> None:
        self._cluster, self._view = scratch / "demo", view
        self._environment = {**os.environ, "XDG_DATA_HOME": str(scratch)}

    @property
    def kubeconfig(self) -> str:
        return str(self._cluster / "kubeconfig")

    async def __call__(self, *arguments: str, patience: float = PATIENCE) -> str:
        """Shown as one would type it, but for the directory. Ended only by itself: what half a command leaves behind,
        nobody would end."""
        self._view.say(f"$ tide {shlex.join(arguments)}")
        options = [] if arguments[0] == "env" else ["--data-dir", str(self._cluster)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "springtide.cli", *arguments, *options),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,  # where Ctrl-C does not reach it
        )
        ending = asyncio.ensure_future(asyncio.wait_for(process.communicate(), patience))
        try:
            said, _ = await asyncio.shield(ending)
        except TimeoutError:
            process.kill()
            raise FailedError(f"tide {arguments[0]} did not end within {patience:g} s") from None
        except asyncio.CancelledError:
            await ending
            raise
        if process.returncode:
            raise FailedError(said.decode())
        return said.decode()


@asynccontextmanager
async def cluster(tide: Tide, view: View) -> AsyncIterator[Client]:
    """With one node, until the end of the block."""
    try:
        said = await tide("up", "-d", "--port", "0", "--node", "node-a=cpu:2")
        for note in re.findall("^! .*", said, re.MULTILINE):
            view.say(note)
        async with await Client.connect(tide.kubeconfig) as client:
            yield client
    finally:
        view.draw([])
        await tide("down", "--grace", "0")


@asynccontextmanager
async def imports() -> AsyncIterator[asyncio.subprocess.Process]:
    """Python compiles what the program imports once, here: pods cannot keep what they compile, so that every worker
    would do it anew."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import springtide.stand_ins.digits"), env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Demo:
    def __init__(self, client: Client, tide: Tide, view: View) -> None:
        self._client, self._tide, self._view = client, tide, view
        self._informers = Informers(client)
        self._jobs, self._pods = (self._informers.of(each, Scope(NAME.namespace)) for each in (MPIJOBS, PODS))
        self._training = Training()
        self._changed = asyncio.Event()
        self._pauses_as_submitted = True
        self._told = 0

    async def run(self, wanted: Iterable[Obj]) -> Training:
        for informer in (self._jobs, self._pods):
            informer.on_change(lambda _: self._look())
        following = asyncio.gather(self._informers.run(), self._follow_launcher())
        story = asyncio.ensure_future(self._story(wanted))
        try:
            done, _ = await asyncio.wait((story, following), return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()  # the other one ends only by failing
        finally:
            ending = asyncio.gather(story, following, return_exceptions=True)
            ending.cancel()
            with suppress(asyncio.CancelledError):
                await ending
        return self._training

    async def _story(self, wanted: Iterable[Obj]) -> None:
        say, training = self._view.say, self._training
        say("an MPIJob: two workers learn to read handwritten digits")
        say(f"$ kubectl create -f {MANIFEST}")
        for each in wanted:
            each["metadata"]["namespace"] = NAME.namespace
            await self._client.create(KINDS[each["kind"]], each)
        await self._until("two workers train", lambda: training.size == 2 and training.step > 0)
        await self._watch()
        say("capacity is idle: one worker more, while the others go on")
        await self._tide("node", "add", f"{SPOT}=cpu:1,spot")
        await self._resize(3)
        await self._watch()
        say("a worker is killed: the others go on, until another takes its place")
        say(f"$ kubectl delete pod {VICTIM.name} --grace-period=0 --force")
        await self._client.delete(PODS, VICTIM, DeleteOptions(grace=0))
        await self._until("the others go on", lambda: any(each.lost is not None for each in training.changes))
        await self._until("another one has taken its place", self._train_together(3))
        await self._watch()
        say("others want the capacity: two workers less, and no spot node")
        await self._resize(1)
        await self._tide("node", "remove", SPOT)
        await self._watch()
        say("enough was seen: the rest without pauses, as a ConfigMap says")
        await self._set_pause("0")
        await self._until("the job ends", self._is_over, unless=("Failed",))
        self._view.keep()

    async def _resize(self, size: int) -> None:
        self._view.say(f"$ kubectl scale mpijob {NAME.name} --replicas={size}")
        await self._client.patch(MPIJOBS, NAME, {"spec": {"replicas": size}}, subresource="scale")
        await self._until(f"{workers(size)} train together", self._train_together(size))

    def _train_together(self, size: int) -> Callable[[], bool]:
        return lambda: self._training.size == size == len(self._training.hosts) and not self._training.coming

    async def _set_pause(self, seconds: str) -> None:
        """For every sample; the program reads it in a mounted ConfigMap."""
        self._pauses_as_submitted = False
        self._view.say(
            f"""$ kubectl patch configmap {NAME.name} --type merge -p '{{"data":{{"pause":"{seconds}"}}}}'"""
        )
        await self._client.patch(CONFIGMAPS, NAME, {"data": {"pause": seconds}})

    async def _watch(self) -> None:
        """For a while, and until a few steps have been made."""
        aim = self._training.step + 5
        await asyncio.sleep(WATCH)
        await self._until("training goes on", lambda: self._training.step >= aim)

    async def _until(
        self, what: str, holds: Callable[[], bool], unless: tuple[str, ...] = ("Succeeded", "Failed")
    ) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    if self._state in unless:
                        raise FailedError(f"the job has {self._state.lower()} before {what}{self._last_words()}")
                    if self._pauses_as_submitted and self._training.step > self._training.last / 2:
                        self._view.say("this machine is busy: training must not end before all was shown")
                        await self._set_pause("0.006")
                    await self._change()
                return
        raise FailedError(f"after {PATIENCE:g} s this has not come about: {what}{self._last_words()}")

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _last_words(self) -> str:
        """Those of the launcher are part of a failed job's explanation."""
        said = str(self._job.get("status", {}).get("explanation", "nothing is known of the job")).splitlines()
        said += [] if self._state == "Failed" else self._training.words
        return "".join(f"\n  {line}" for line in ["", *said])

    def _is_over(self) -> bool:
        return self._state == "Succeeded" and self._training.accuracy is not None

    @property
    def _job(self) -> Obj:
        return self._jobs.get(NAME) or {}

    @property
    def _state(self) -> str:
        return str(self._job.get("status", {}).get("state", ""))

    async def _follow_launcher(self) -> None:
        """Its log, as `kubectl logs -f` has it."""
        while (self._pods.get(LAUNCHER) or {}).get("status", {}).get("phase", "Pending") == "Pending":
            await self._change()
        log = self._client.lines(request.get(PODS, LAUNCHER, "log", {"follow": "true"}))
        with suppress(ApiError):
            async with aclosing(log) as lines:
                async for line in lines:
                    self._hear(line.decode(errors="replace"))

    def _hear(self, line: str) -> None:
        if change := self._training.read(line):
            self._view.say(f"  {change}")
        elif not self._view.is_live and self._training.step >= self._told + 25:
            self._told = self._training.step
            self._view.say(f"  {summary(self._training)}")
        self._look()

    def _look(self) -> None:
        """Whenever something has changed."""
        self._view.draw(picture(self._job, self._pods.objects(), self._training, self._view.width))
        self._changed.set()


def summary(training: Training) -> str:
    return (
        f"step {training.step}/{training.last}  loss {training.loss:.3f}  {training.rate:>6,} samples/s  "
        f"{workers(training.size)}"
    )


def picture(job: Obj, pods: list[Obj], training: Training, width: int) -> list[str]:
    """The job, its loss, and a line for each of its pods."""
    status = job.get("status", {})
    if not status:
        return []
    lines = ["", f"  {NAME.name}  {status.get('state', ''):<11}"]
    if training.last:
        lines[-1] += f"  {summary(training)}"
        first = training.changes[0].before if training.changes else training.size
        marks = [(0, first, str(first))]
        marks += [(each.step, each.size, str(each.size) if each.lost is None else "✗") for each in training.changes]
        lines += ["", *curve(training.losses, marks, training.last, min(width, WIDEST)), ""]
    return lines + [
        f"  {described(pod, training)}" for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    ]


def described(pod: Obj, training: Training) -> str:
    name, phase, mark = pod["metadata"]["name"], pod["status"].get("phase", "").lower(), " "
    if "worker" in name:
        mark = "○"
    if pod["metadata"].get("deletionTimestamp"):
        phase = "leaves"
    elif name in training.hosts:
        phase, mark = "trains", "●"
    elif name in training.coming:
        phase, mark = "joins", "◐"
    return f"{mark} {name:<16} {phase:<10} {pod['spec'].get('nodeName', '-')}"


async def show(wanted: Iterable[Obj], scratch: Path) -> None:
    view = View()
    tide = Tide(scratch, view)
    try:
        async with asyncio.timeout(LONGEST):
            await tide("env", "create", NAME.name, *IMAGE)
            async with imports() as importing, cluster(tide, view) as client:
                await importing.wait()
                training = await Demo(client, tide, view).run(wanted)
    except TimeoutError:
        raise FailedError(f"it took more than {LONGEST:g} s") from None
    view.say(f"{training.accuracy:.1%} of the digits that it never saw are read right")
    for change in training.changes:
        view.say(f"  {change}")
    view.say("the cluster is gone. For one of your own: make install, then tide up")


class Interrupts:
    """The first signal ends the demo in order; further ones are of no use."""

    def __init__(self) -> None:
        self.first = 0

    async def around(self, task: Coroutine[Any, Any, None]) -> None:
        running, loop = asyncio.ensure_future(task), asyncio.get_running_loop()

        def end(number: int) -> None:
            if not self.first:
                self.first = number
                running.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)
        with suppress(asyncio.CancelledError):
            await running


def main() -> int:
    parser = argparse.ArgumentParser(description="Elastic training on an embedded cluster; ends by itself.")
    parser.add_argument("manifest", nargs="?", type=Path, default=MANIFEST, help="another job of the same name")
    wanted = list(yaml.safe_load_all(parser.parse_args().manifest.read_text()))
    interrupts = Interrupts()
    with tempfile.TemporaryDirectory(prefix="springtide-demo-") as scratch:
        try:
            asyncio.run(interrupts.around(show(wanted, Path(scratch))))
        except FailedError as error:
            print(f"the demo failed: {error}", file=sys.stderr)
            return 1
    return 128 + interrupts.first if interrupts.first else 0


if __name__ == "__main__":
    sys.exit(main())
