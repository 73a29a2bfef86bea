# SPDX-License-Identifier: Apache-2.0
"""Gives a job another number of workers, and observes it until it has them.

TrainingJobs that run get a ScaleOut or ScaleIn; of all other jobs the number of replicas in their spec is changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.kube.client import Client
from springtide.kube.errors import Forbidden, Invalid
from springtide.kube.resources import CONFIGMAPS, PODS, Key, Obj, Resource
from springtide.messages import text
from springtide.views import resize_steps, sizes, trainers
from springtide.views.resize_steps import Change, Ending, Seen, Step

SCALEOUTS: Final = Resource("kai.alibabacloud.com", "v1alpha1", "scaleouts", "ScaleOut")
SCALEINS: Final = Resource("kai.alibabacloud.com", "v1alpha1", "scaleins", "ScaleIn")
PATIENCE: Final = 600
"""Seconds that a ScaleOut gets by default: pulling an image takes longer than the kind's own 60."""
_LOOK_AGAIN: Final = 0.25


@dataclass(frozen=True, slots=True)
class Request:
    """A resize that a user asks for."""

    asked: str
    """`4`, `+1` or `-1`."""
    victims: tuple[str, ...] = ()
    """Pods that are to be removed."""
    timeout: float = 0.0
    """Seconds; 0: no limit."""
    script: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    retries: int = 0

    @property
    def needs_scaler(self) -> bool:
        return bool(self.script or self.variables or self.retries)


@dataclass(frozen=True, slots=True)
class Resize:
    """A resize that the cluster has accepted."""

    job: Job
    change: Change
    scaler: tuple[Resource, Key] | None = None
    """The ScaleOut or ScaleIn that carries it out."""

    @property
    def is_none(self) -> bool:
        """Whether the job had this size already."""
        return self.change.start == self.change.target


Observer = Callable[[tuple[Step, ...]], None]


async def begin(client: Client, job: Job, request: Request) -> Resize:
    """Failure for a size that the job cannot have, before anything is changed."""
    start = sizes.workers(job.obj)
    target = sizes.wanted(request.asked, start)
    if target is None:
        raise Failure(
            text("{asked} is no number of workers.", asked=request.asked),
            hint=text("write a number, as in 4, or a change, as in +1 or -1"),
            code=ExitCode.USAGE,
        )
    if refusal := sizes.refusal(job.obj, target):
        raise Failure(refusal.what, refusal.why, refusal.next)
    await _check_victims(client, job, request, start - target)
    change = Change(start, target)
    if start == target:
        return Resize(job, change)
    if sizes.way(job.obj) is sizes.Way.SCALER:
        return await _create_scaler(client, job, request, change)
    if request.needs_scaler:
        raise Failure(
            text("Job {name} cannot run a script when it is resized.", name=job.name),
            text("only TrainingJobs that run have ScaleOuts and ScaleIns, which run scripts"),
            text("leave out {options}", options="--script, --env, --retry"),
            ExitCode.USAGE,
        )
    for name in request.victims:
        mark = {"metadata": {"annotations": {sizes.VICTIM: "true"}}}
        await client.patch(PODS, Key(job.key.namespace, name), mark)
    try:
        await client.patch(job.resource, job.key, sizes.replicas_patch(job.obj, target))
    except Invalid as error:  # such as a job that keeps its size while it runs
        raise Failure(
            text("Job {name} was not resized.", name=job.name),
            text("{why}", why=error.message),
            text("see the job: {command}", command=f"tide get {job.name}"),
        ) from None
    return Resize(job, change)


async def _check_victims(client: Client, job: Job, request: Request, fewer: int) -> None:
    if not request.victims:
        return
    if fewer != len(request.victims):
        raise Failure(
            text("{number} pods are named, and {fewer} are to go.", number=len(request.victims), fewer=max(fewer, 0)),
            hint=text("remove exactly these: {command}", command=_removal(job, request)),
            code=ExitCode.USAGE,
        )
    there = await finding.workers(client, job)
    if unknown := sizes.unknown_victims(request.victims, there):
        names = ", ".join(sorted(pod["metadata"]["name"] for pod in there))
        raise Failure(
            text("Job {name} has no worker {pods}.", name=job.name, pods=", ".join(unknown)),
            text("its workers are {names}", names=names),
            code=ExitCode.NOT_FOUND,
        )


def _removal(job: Job, request: Request) -> str:
    return f"tide scalein {job.name} --pod-names {','.join(request.victims)}"


async def _create_scaler(client: Client, job: Job, request: Request, change: Change) -> Resize:
    """Named as Arena's are, with a time that no other scaler has."""
    wanted = sizes.Scaler(
        name=f"{job.name}-{time.time_ns() // 1_000_000}",
        namespace=job.key.namespace,
        job=job.name,
        change=change.target - change.start,
        victims=request.victims,
        timeout=round(request.timeout) or PATIENCE,
        script=request.script,
        variables=request.variables,
        retries=request.retries,
    )
    resource = SCALEOUTS if change.grows else SCALEINS
    made = await client.create(resource, wanted.manifest())
    return Resize(job, change, (resource, Key.of(made)))


async def observe(client: Client, resize: Resize, timeout: float, show: Observer) -> tuple[Change, Ending]:
    """Calls `show` with the steps whenever it has looked, until the resize has ended."""
    deadline = time.monotonic() + timeout if timeout else float("inf")
    while True:
        seen = await _look(client, resize)
        change = resize_steps.effective(resize.change, seen)
        steps = resize_steps.steps(change, seen)
        show(steps)
        if ending := resize_steps.ending(change, seen):
            return change, ending
        if time.monotonic() > deadline:
            return change, resize_steps.timed_out(seen, steps)
        await asyncio.sleep(_LOOK_AGAIN)


async def _look(client: Client, resize: Resize) -> Seen:
    job = await finding.again(client, resize.job)
    if job is None:
        return Seen(None)
    scaler: Obj | None = None
    if resize.scaler is not None:
        scaler = await client.find(*resize.scaler)
    workers = await finding.workers(client, job)
    return Seen(job.obj, workers, await _hosts(client, job), scaler, resize.scaler is not None)


async def _hosts(client: Client, job: Job) -> frozenset[str] | None:
    if not resize_steps.has_host_list(trainers.of_job(job.obj)):
        return None
    try:
        config = await client.find(CONFIGMAPS, Key(job.key.namespace, f"{job.name}-config"))
    except Forbidden:
        return None
    return None if config is None else resize_steps.hosts_of(config)
