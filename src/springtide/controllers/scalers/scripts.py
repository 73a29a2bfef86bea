# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of scalers in launchers, in the background.

A scaler's script runs once at a time, and what is known of its last run stays until the scaler has ended or is gone.
Nothing survives the operator: the next one runs the script again. An attempt that cannot begin is repeated for a while.
If the connection to a script is lost, it may go on: it is repeated only after the time at which it is terminated.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from springtide.controllers.job_keys import JobKey
from springtide.controllers.views import PodView
from springtide.jobs.actions import RunScript
from springtide.jobs.reporting import quoting
from springtide.jobs.scaling.scaler import ScriptRun
from springtide.jobs.scaling.scripts import TIMED_OUT
from springtide.kube import errors, exec
from springtide.kube.client import Client
from springtide.kube.informer import Informer
from springtide.kube.resources import Key

logger = logging.getLogger(__name__)

AT_ONCE: Final = 256
"""Scripts of all jobs that run concurrently; others wait."""
AT_ONCE_IN_NAMESPACE: Final = 16
"""A script may take years: those of one namespace must leave room for the others."""
MARGIN: Final = 10.0
"""Seconds after its timeout in which a script should have ended: then it counts as failed."""
TRIES: Final = 5
BACKOFF: Final = 1.0
"""Seconds before the second try, doubled before every further one."""
NOT_RUN: Final = 126
"""The exit code, in the way of shells, of a script that could not be run."""
_PASSING: Final = (errors.Unreachable, errors.ServerError, errors.TooManyRequests)


@dataclass(frozen=True, slots=True)
class _Running:
    job: JobKey
    task: asyncio.Task[None]


class Scripts:
    def __init__(
        self,
        client: Client,
        pods: Informer[PodView],
        runs: dict[str, ScriptRun],
        ended: Callable[[JobKey], None],
    ) -> None:
        """`runs` is kept up to date; `ended` is called for the job of a script that has ended."""
        self._client, self._pods, self._runs, self._ended = client, pods, runs, ended
        self._running: dict[str, _Running] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._slots_of: defaultdict[str, asyncio.Semaphore] = defaultdict(_slots_of_namespace)

    def start(self, job: JobKey, wanted: RunScript) -> None:
        """Returns at once. Nothing is done if a script of the scaler runs, or if this attempt is known."""
        known = self._runs.get(wanted.scaler)
        if wanted.scaler in self._running or (known is not None and known.attempt == wanted.attempt):
            return
        self._runs[wanted.scaler] = ScriptRun(wanted.attempt)
        task = asyncio.create_task(self._run(job, wanted), name=f"script of scaler {wanted.scaler}")
        self._running[wanted.scaler] = _Running(job, task)
        task.add_done_callback(partial(self._broken, job, wanted))

    def forget(self, scaler: str) -> None:
        """The scaler with this uid has ended or is gone."""
        self._runs.pop(scaler, None)
        if (running := self._running.pop(scaler, None)) is not None:
            running.task.cancel()

    def forget_job(self, job: JobKey) -> None:
        for scaler in [scaler for scaler, each in self._running.items() if each.job == job]:
            self.forget(scaler)

    async def close(self) -> None:
        """No longer the leader: another operator runs them."""
        tasks = [each.task for each in self._running.values()]
        for scaler in (*self._running, *self._runs):
            self.forget(scaler)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: JobKey, wanted: RunScript) -> None:
        async with self._slots_of[job.namespace], self._slots:
            run = await self._result(job, wanted)
        logger.info("%s %s/%s: the script of a scaler ended with exit code %s", *job, run.exit_code)
        self._over(job, wanted, run)

    def _over(self, job: JobKey, wanted: RunScript, run: ScriptRun) -> None:
        self._running.pop(wanted.scaler, None)
        self._runs[wanted.scaler] = run
        self._ended(job)

    def _broken(self, job: JobKey, wanted: RunScript, task: asyncio.Task[None]) -> None:
        """After a mistake in the operator the scaler must not wait for ever."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s %s/%s: the script of a scaler cannot be run", *job, exc_info=error)
            self._over(job, wanted, _not_run(wanted, repr(error)))

    async def _result(self, job: JobKey, wanted: RunScript) -> ScriptRun:
        pause, failure = BACKOFF, ""
        for _ in range(TRIES):
            began = asyncio.get_running_loop().time()
            try:
                return await self._once(job, wanted)
            except exec.Lost as lost:
                failure = str(lost)
                over = began + wanted.timeout.total_seconds() + MARGIN
                await asyncio.sleep(max(over - asyncio.get_running_loop().time(), 0.0))
            except _PASSING as error:
                failure = str(error)
                await asyncio.sleep(pause)
                pause *= 2
            except errors.ApiError as error:
                return _not_run(wanted, str(error))
        return _not_run(wanted, failure)

    async def _once(self, job: JobKey, wanted: RunScript) -> ScriptRun:
        seconds = wanted.timeout.total_seconds() + MARGIN
        pod = Key(job.namespace, wanted.pod)
        view = self._pods.get(pod)
        if view is None or view.metadata.uid != wanted.uid:
            return _not_run(wanted, "the pod is gone")
        try:
            ended = await exec.execute(self._client, pod, wanted.container, wanted.argv, seconds)
        except exec.TimedOut as late:
            return ScriptRun(wanted.attempt, TIMED_OUT, quoting.lines(late.last_lines))
        return ScriptRun(wanted.attempt, ended.exit_code, quoting.lines(ended.last_lines))


def _slots_of_namespace() -> asyncio.Semaphore:
    return asyncio.Semaphore(AT_ONCE_IN_NAMESPACE)


def _not_run(wanted: RunScript, why: str) -> ScriptRun:
    return ScriptRun(wanted.attempt, NOT_RUN, quoting.line(f"it could not be run in pod {wanted.pod}: {why}"))
