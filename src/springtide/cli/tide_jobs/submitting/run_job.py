# SPDX-License-Identifier: Apache-2.0
"""The course of `tide run`: creates the job, follows its log, and asks after Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path

import click

from springtide.cli import printing, speaking
from springtide.cli.connecting import Target
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import waiting
from springtide.cli.jobs.changing import creating, running
from springtide.cli.jobs.changing.creating import Created
from springtide.cli.jobs.changing.running import Asked
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.logs.following import JobLogs
from springtide.cli.jobs.logs.log_reading import Wish
from springtide.cli.tide_jobs.output.run_output import RunOutput
from springtide.cli.tide_jobs.output.state_lines import StateLines
from springtide.kube.client import Client
from springtide.kube.errors import ApiError, NotFound
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import Key
from springtide.manifests.kinds import directory_job
from springtide.messages import text


class Answer(Enum):
    DETACH = "d"
    STOP = "s"
    GO_ON = ""


def run_job(target: Target, asked: Asked, directory: Path, *, detach: bool) -> None:
    local = target.talk(lambda client: running.is_on_this_machine(client, target))
    wanted, environment = running.job_of(asked, target.namespace, directory, local=local)
    speaking.note(text("Environment: {environment}", environment=environment))
    job = target.talk(lambda client: _created(client, wanted))
    speaking.note(
        text(
            "MPIJob {name}: {workers} workers, {min} to {max} allowed",
            name=job.name,
            workers=wanted.workers,
            min=wanted.min,
            max=wanted.max,
        )
    )
    speaking.note(text("Resize it while it trains: {command}", command=f"tide scale {job.name} --workers +1"))
    if detach:
        speaking.note(text("Follow it: {command}", command=f"tide logs -f {job.name}"))
        click.echo(job.name)
        return
    _follow(target, job)


async def _created(client: Client, wanted: directory_job.DirectoryJob) -> Job:
    def ignore(created: Created) -> None:
        """The job is announced with its sizes."""

    made = await creating.create(client, [directory_job.manifest(wanted)], ignore)
    return Job(made[0].resource, Key.of(made[0].obj), made[0].obj)


def _follow(target: Target, job: Job) -> None:
    output, states = RunOutput(), StateLines(job.name)

    async def conversation(client: Client) -> None:
        log = asyncio.create_task(JobLogs(client, job, Wish(follow=True), output).show())
        end = asyncio.create_task(waiting.until_finished(client, job, show=states.show))
        try:
            await _finished(end, log)
        finally:  # also after Ctrl-C
            for task in (end, log):
                task.cancel()
            await asyncio.gather(end, log, return_exceptions=True)

    while True:
        try:
            target.talk(conversation, streams=True)
        except KeyboardInterrupt:
            answer = _asked(job)
            if answer is Answer.GO_ON:
                continue
            click.get_current_context().exit(_stop(target, job) if answer is Answer.STOP else _detach(job))
        except BrokenPipeError:  # as in `tide run … | head`
            printing.let_go()
            click.get_current_context().exit(_detach(job))
        except Failure as failure:
            raise _without_log(failure) from None
        speaking.note(text("Job {name} has succeeded.", name=job.name))
        return


async def _finished(end: asyncio.Task[None], log: asyncio.Task[None]) -> None:
    """Failure unless the job succeeds. The last lines of the log come before that message. BrokenPipeError when nobody
    reads the log any more."""
    await asyncio.wait((end, log), return_when=asyncio.FIRST_EXCEPTION)
    if log.done() and isinstance(unread := log.exception(), BrokenPipeError):
        raise unread
    try:
        await end
    except Failure:
        await _read(log)
        raise
    await _read(log)


async def _read(log: asyncio.Task[None]) -> None:
    """The end of the job counts more than a log that cannot be read to its own end."""
    try:
        await log
    except ApiError as error:
        speaking.note(text("the log cannot be read to its end: {why}", why=error.message))
    except Failure as failure:
        speaking.note(failure.what)


def _without_log(failure: Failure) -> Failure:
    """The last lines of the log, which follow the cause, have just been shown."""
    if failure.cause is not None:
        failure.cause = text("{why}", why=speaking.shown(failure.cause).partition("\n")[0])
    return failure


def _asked(job: Job) -> Answer:
    """Detaches where nobody can answer, and after another Ctrl-C, which may come before the question is complete."""
    try:
        click.echo(err=True)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return Answer.DETACH
        return _answered(job)
    except KeyboardInterrupt:
        click.echo(err=True)
        return Answer.DETACH


def _answered(job: Job) -> Answer:
    question = text("Detach from {job}, or stop it? d: detach, s: stop, Enter: go on following", job=job.title)
    while True:
        click.echo(f"{speaking.shown(question)} [d/s] ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return Answer.DETACH
        with suppress(ValueError):
            return Answer(line.strip().lower()[:1])


def _stop(target: Target, job: Job) -> ExitCode:
    async def deleted(client: Client) -> None:
        with suppress(NotFound):
            await client.delete(job.resource, job.key, DeleteOptions(propagation="Background", uid=job.uid))

    target.talk(deleted)
    speaking.note(text("Job {name} is stopped and deleted.", name=job.name))
    return ExitCode.CANCELLED


def _detach(job: Job) -> ExitCode:
    speaking.note(text("Detached from job {name}, which goes on.", name=job.name))
    speaking.note(text("Follow it: {command}", command=f"tide logs -f {job.name}"))
    speaking.note(text("Stop it: {command}", command=f"tide delete {job.name}"))
    return ExitCode.JOB_NOT_FINISHED
