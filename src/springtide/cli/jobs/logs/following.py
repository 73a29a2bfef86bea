# SPDX-License-Identifier: Apache-2.0
"""The logs of a job as one: of all its pods, merged by time, also of pods that come, restart or go meanwhile.

    await JobLogs(client, job, wish, output).show()

A followed log ends when the job has finished and everything was read; the log of a container that restarts continues
with its next attempt. Streams need a client whose requests run at the same time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.logs.log_reading import Pace, Reading, Wish
from springtide.kube import errors, logs
from springtide.kube.client import Client
from springtide.kube.logs import LogOptions
from springtide.kube.resources import Obj
from springtide.messages import Text, text
from springtide.views import trainers
from springtide.views.jobs import job_view
from springtide.views.logs import log_sources
from springtide.views.logs.log_lines import Line, Selection
from springtide.views.logs.log_merge import Merge
from springtide.views.logs.log_sources import LogSource

_LOOK: Final = 1.0
"""Seconds between two looks at the pods of a followed job."""
_AFTER_END: Final = 1.5
"""Seconds without a line after which pods that go on after the end of their job are not followed any more."""
_UNREACHABLE: Final = 60.0
"""Seconds for which a followed log waits for a server that does not answer."""


class Output(Protocol):
    def begin(self, sources: int | None) -> None:
        """Called once, before all lines, with the number of logs; None if more may come."""

    def line(self, source: LogSource, line: Line) -> None: ...

    def flush(self) -> None:
        """There is nothing more to write for now."""

    def note(self, note: Text) -> None:
        """About the logs, no part of them."""


class MergedLog:
    """Several logs, read at the same time and written by time."""

    def __init__(self, client: Client, namespace: str, wish: Wish, output: Output, *, marked: bool) -> None:
        """`marked`: the rank is that of a line, not of a pod."""
        self._client, self._namespace, self._wish, self._output = client, namespace, wish, output
        self._rank, self._marked = wish.wanted.rank if marked else None, marked
        self._merge = Merge(follow=wish.follow)
        self.pace = Pace()
        self.readings: dict[str, Reading] = {}

    def open(self, sources: Iterable[LogSource], *, first: bool) -> None:
        """Read logs that are not read yet, or not to their end. Logs that begin later are read from the beginning."""
        for source in sources:
            known = self.readings.get(source.key)
            if known is not None:
                if self._wish.follow and known.is_to_be_continued(source):
                    known.go_on(source)
                continue
            reading = Reading(self._client, self._namespace, source, self._merge, self.pace)
            self.readings[source.key] = reading
            selection = Selection(self._wish.pattern, self._rank)
            selective = self._marked or self._wish.pattern is not None  # launchers print lines that are not shown
            whole = LogOptions(source.container, follow=True, timestamps=True)
            reading.start(self._wish.options(source.container) if first else whole, selection, selective=selective)

    async def write(self, more: Callable[[], bool] = lambda: False) -> None:
        """Write lines until all logs have ended and there is no `more` to come."""
        while True:
            self.pace.arrived.clear()
            now, wrote = time.monotonic(), False
            for key, line in self._merge.ready(now):
                self._output.line(self.readings[key].source, line)
                wrote = True
            if wrote:
                self._output.flush()
            self.pace.written()
            if self._merge.done and not more():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(self._merge.wait(now)):
                    await self.pace.arrived.wait()

    async def drain(self) -> None:
        """Wait until the logs have ended, or have no more lines for a while."""
        tasks = [reading.task for reading in self.readings.values() if reading.task is not None]
        read = -1
        while any(not task.done() for task in tasks) and read != (read := self._lines()):
            await asyncio.wait(tasks, timeout=_AFTER_END)
        for task in tasks:
            task.cancel()

    def _lines(self) -> int:
        return sum(reading.lines for reading in self.readings.values())

    async def stop(self) -> None:
        tasks = [reading.task for reading in self.readings.values() if reading.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def report(self) -> None:
        """What could not be read; a failure if that is everything."""
        failed = [(each.source, each.problem) for each in self.readings.values() if each.problem is not None]
        if failed and len(failed) == len(self.readings):
            raise failed[0][1]
        for source, problem in failed:
            self._output.note(text("the log of {pod} cannot be read: {reason}", pod=source.pod, reason=problem.message))


class JobLogs:
    def __init__(self, client: Client, job: Job, wish: Wish, output: Output) -> None:
        self._client, self._job, self._wish, self._output = client, job, wish, output
        marked = log_sources.rank_marks_lines(job.obj)
        self._log = MergedLog(client, job.key.namespace, wish, output, marked=marked)

    async def show(self) -> None:
        """Failure when there is nothing to show; ApiError when nothing can be read."""
        pods = await finding.pods(self._client, self._job)
        sources = log_sources.of_pods(self._job.obj, pods, self._wish.wanted)
        if not self._wish.previous or self._wish.wanted.instance:
            sources += await self._removed(pods)
        self._check(pods, sources)
        started = [source for source in sources if source.started]
        try:
            self._output.begin(1 if self._is_of_one else None if self._wish.follow else len(started))
            self._log.open(started, first=True)
            if self._wish.follow:
                await self._follow()
            else:
                await self._log.write()
        finally:
            await self._log.stop()
        self._log.report()

    @property
    def _is_of_one(self) -> bool:
        """Whether all lines are of one pod, also of those that come."""
        return bool(self._wish.wanted.instance) or self._wish.wanted.rank is not None

    async def _removed(self, pods: Sequence[Obj]) -> list[LogSource]:
        """The logs of removed pods that are not being read, or were read, as those of pods."""
        known = {pod["metadata"]["uid"] for pod in pods}
        known |= {reading.source.uid for reading in self._log.readings.values()}
        key, obj = self._job.key, self._job.obj
        items = await logs.kept(self._client, key.namespace, trainers.of_job(obj).pods_selector(key.name))
        return log_sources.of_removed(obj, items, known, self._wish.wanted)

    def _check(self, pods: Sequence[Obj], sources: Sequence[LogSource]) -> None:
        wanted, names = self._wish.wanted, log_sources.containers(pods)
        if not sources and wanted.container and names and wanted.container not in names:
            what = text("Job {name} has no container {container}.", name=self._job.name, container=wanted.container)
            raise Failure(what, hint=text("its containers: {names}", names=", ".join(names)), code=ExitCode.NOT_FOUND)
        waiting = [source for source in sources if not source.started]
        for source in waiting:
            self._output.note(text("{pod} has no log yet: {reason}", pod=source.pod, reason=source.waits_for))
        if self._wish.follow and (waiting or not wanted.instance):
            return
        if len(waiting) == len(sources):
            raise self._nothing(pods)

    def _nothing(self, pods: Sequence[Obj]) -> Failure:
        wanted, name = self._wish.wanted, self._job.name
        what = text("Job {name} has no logs yet.", name=name)
        hint = text("see why with: {command}", command=f"tide explain {name} -n {self._job.key.namespace}")
        if wanted.instance:
            what = text("Job {name} has no pod {pod} with a log.", name=name, pod=wanted.instance)
            if names := sorted(pod["metadata"]["name"] for pod in pods):
                hint = text("its pods: {names}", names=", ".join(names))
        elif wanted.rank is not None:
            what = text("Job {name} has no rank {rank} with a log.", name=name, rank=wanted.rank)
        return Failure(what, hint=hint, code=ExitCode.NOT_FOUND)

    # Following

    async def _follow(self) -> None:
        looking = asyncio.create_task(self._look())
        looking.add_done_callback(lambda _: self._log.pace.arrived.set())
        try:
            await self._log.write(more=lambda: not looking.done())
            await looking
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _look(self) -> None:
        """Read the logs of pods that come and of attempts that begin, until the job has finished."""
        lost = 0.0
        while True:
            await asyncio.sleep(_LOOK)
            try:
                over = await self._is_over()
            except errors.Unreachable:
                lost = lost or time.monotonic()
                if time.monotonic() - lost > _UNREACHABLE:
                    raise
                continue
            lost = 0.0
            if over:
                await self._log.drain()
                return

    async def _is_over(self) -> bool:
        job = await finding.again(self._client, self._job)
        pods = await finding.pods(self._client, self._job)
        sources = log_sources.of_pods(self._job.obj, pods, self._wish.wanted)
        over = job is None or job_view(job.obj).finished or self._is_instance_over(pods)
        if over:
            sources += await self._removed(pods)
        self._log.open((source for source in sources if source.started), first=False)
        if job is None:
            self._output.note(text("Job {name} was deleted.", name=self._job.name))
        return over

    def _is_instance_over(self, pods: Sequence[Obj]) -> bool:
        """Whether the one pod that is followed has ended, or is gone."""
        name = self._wish.wanted.instance
        phases = [(pod.get("status") or {}).get("phase") for pod in pods if pod["metadata"]["name"] == name]
        return bool(name) and all(phase in ("Succeeded", "Failed") for phase in phases)


async def show_deleted(client: Client, namespace: str, name: str, wish: Wish, output: Output) -> bool:
    """The kept logs of a job that does not exist any more; False if there are none."""
    _, items = log_sources.job_of_removed(name, await logs.kept(client, namespace))
    sources = log_sources.of_deleted_job(name, items, wish.wanted)
    if not sources:
        return False
    output.note(text("Job {name} was deleted; these are its logs that were kept.", name=name))
    log = MergedLog(client, namespace, wish, output, marked=log_sources.has_launcher(items))
    try:
        output.begin(len(sources))
        log.open(sources, first=True)
        await log.write()
    finally:
        await log.stop()
    log.report()
    return True
