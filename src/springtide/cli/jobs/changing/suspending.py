# SPDX-License-Identifier: Apache-2.0
"""Suspends and resumes jobs of any kind."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.kube.client import Client
from springtide.messages import text
from springtide.views import sizes, trainers
from springtide.views.states import FINISHED, state_of

_LOOK_AGAIN: Final = 0.25


async def suspend(client: Client, job: Job) -> bool:
    """Whether the job was not suspended before. Failure for one that has finished."""
    if (state := state_of(job.obj)) in FINISHED:
        raise Failure(
            text("Job {name} cannot be suspended.", name=job.name),
            text("it has finished: {state}", state=state),
            text("start it again with: {command}", command=f"tide restart {job.name}"),
        )
    if sizes.suspended(job.obj):
        return False
    await client.patch(job.resource, job.key, _patch(job, on=True))
    return True


async def resume(client: Client, job: Job) -> bool:
    """Whether the job was suspended before."""
    if (state := state_of(job.obj)) in FINISHED:
        raise Failure(
            text("Job {name} cannot be resumed.", name=job.name),
            text("it has finished: {state}", state=state),
            text("start it again with: {command}", command=f"tide restart {job.name}"),
        )
    if not sizes.suspended(job.obj):
        return False
    await client.patch(job.resource, job.key, _patch(job, on=False))
    return True


def _patch(job: Job, *, on: bool) -> dict[str, Any]:
    if trainers.of_job(job.obj).resource != trainers.TRAINING_JOBS:
        return {"spec": {"runPolicy": {"suspend": on}}}
    if on:
        return {"metadata": {"annotations": {sizes.SUSPENDED: "true"}}}
    return {"metadata": {"annotations": {sizes.SUSPENDED: None, sizes.QUEUED: None}}}


async def until_stopped(client: Client, job: Job, timeout: float) -> None:
    """Returns once a suspended job has no pods that run. Its launcher may write a checkpoint first."""
    deadline = time.monotonic() + timeout if timeout else float("inf")
    while True:
        now = await finding.again(client, job)
        if now is None:
            raise gone(job)
        running = [pod for pod in await finding.pods(client, now) if not _has_ended(pod)]
        if not running and sizes.suspended(now.obj):
            return
        if not sizes.suspended(now.obj):
            raise Failure(
                text("Job {name} was resumed meanwhile.", name=job.name),
                hint=text("see the job: {command}", command=f"tide get {job.name}"),
                code=ExitCode.CANCELLED,
            )
        if time.monotonic() > deadline:
            names = ", ".join(pod["metadata"]["name"] for pod in running)
            raise Failure(
                text("Job {name} has not stopped in time.", name=job.name),
                text("these pods still run: {pods}", pods=names),
                text("see the job: {command}", command=f"tide get {job.name}"),
                ExitCode.TIMEOUT,
            )
        await asyncio.sleep(_LOOK_AGAIN)


def gone(job: Job) -> Failure:
    return Failure(text("Job {name} was deleted meanwhile.", name=job.name), code=ExitCode.CANCELLED)


def _has_ended(pod: dict[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
