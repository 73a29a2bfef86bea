# SPDX-License-Identifier: Apache-2.0
"""Waits until a job has finished, with an exit code for each way to end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs.finding import Job
from springtide.kube.client import Client
from springtide.kube.resources import Obj
from springtide.messages import text
from springtide.views.outcomes import Outcome, explanation, outcome
from springtide.views.states import state_of

_LOOK_AGAIN: Final = 0.5

Observer = Callable[[Obj], None]


def _ignore(job: Obj) -> None:
    pass


async def until_finished(client: Client, job: Job, timeout: float = 0.0, show: Observer = _ignore) -> None:
    """Failure unless the job succeeds. `show` is called with the job whenever it was read."""
    deadline = time.monotonic() + timeout if timeout else float("inf")
    while True:
        now = await client.find(job.resource, job.key)
        if now is not None:
            show(now)
        ended = outcome(now, job.uid)
        if ended is not Outcome.NOT_FINISHED:
            check(job, now, ended)
            return
        if time.monotonic() > deadline and now is not None:
            raise Failure(
                text("Job {name} has not finished in time.", name=job.name),
                text("{state}: {why}", state=state_of(now), why=explanation(now)),
                text("see why it takes so long: {command}", command=f"tide explain {job.name}"),
                ExitCode.TIMEOUT,
            )
        await asyncio.sleep(_LOOK_AGAIN)


def check(job: Job, now: Obj | None, ended: Outcome) -> None:
    """Failure unless it succeeded."""
    if ended is Outcome.FAILED and now is not None:
        raise Failure(
            text("Job {name} has failed.", name=job.name),
            text("{why}", why=explanation(now)),
            text("read its log: {command}", command=f"tide logs {job.name}"),
            ExitCode.JOB_FAILED,
        )
    if ended is Outcome.CANCELLED:
        raise Failure(text("Job {name} was deleted before it finished.", name=job.name), code=ExitCode.CANCELLED)
    if ended is Outcome.NOT_FINISHED:
        raise not_finished(job.name)


def not_finished(name: str) -> Failure:
    return Failure(
        text("Job {name} has not finished.", name=name),
        hint=text("follow it: {command}", command=f"tide logs -f {name}"),
        code=ExitCode.JOB_NOT_FINISHED,
    )
