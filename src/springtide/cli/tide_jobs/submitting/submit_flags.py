# SPDX-License-Identifier: Apache-2.0
"""The course of `tide submit etjob` and the like: what the flags ask for, checked, shown or created."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from springtide.cli import connecting, speaking
from springtide.cli.connecting import Target
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.flags import submissions
from springtide.cli.flags.pflag import Parsed
from springtide.cli.jobs import users
from springtide.cli.jobs.changing import creating, obstacles, preparing, running, ssh_keys, submitting
from springtide.cli.jobs.changing.submitting import Plan
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.object_lines import resource_of
from springtide.cli.jobs.tensorboard import tensorboard_processes
from springtide.cli.tide_jobs.output.manifest_output import DryRun, show_created
from springtide.cli.tide_jobs.submitting.submit_file import wait_for
from springtide.cli.tide_jobs.tensorboard import show_submitted
from springtide.kube.client import Client
from springtide.kube.resources import Key, Obj
from springtide.manifests.submissions import checks, commands
from springtide.manifests.submissions.problems import Problem
from springtide.manifests.submissions.submission import LauncherJob, Submission, User
from springtide.messages import FromOperator, text
from springtide.views.trainers import Trainer, by_word


def submit(kind: type[Submission], type_: str, line: Parsed) -> None:
    values = line.values
    target = connecting.found(values["kubeconfig"], values["context"], values["namespace"])
    dry_run = DryRun(values["dry-run"], values["output"])
    joined = commands.joined(_command(line.arguments))
    if joined.lines_joined:
        speaking.note(text("Lines of the command that begin with an option were joined to the line before them."))
    trainer = by_word(type_)
    assert trainer is not None
    given = {"namespace": target.namespace, "command": joined.command}
    job = target.talk(lambda client: _submitted(client, target, _Asked(kind, trainer, values, given), dry_run))
    if job is None:
        return
    if values["tensorboard"]:
        board = tensorboard_processes.options(job.name, target.namespace, values["kubeconfig"], values["context"])
        show_submitted(job.name, board, speaking.note if dry_run.output else speaking.say)
    if values["wait"]:
        wait_for(target, [job], values["timeout"])
    else:
        place = f" -n {target.namespace}" if values["namespace"] else ""
        speaking.note(text("Follow it: {command}", command=f"tide logs -f {job.name}{place}"))


class _Asked:
    def __init__(self, kind: type[Submission], trainer: Trainer, values: dict[str, Any], given: dict[str, Any]) -> None:
        self._kind, self.trainer, self._values, self._given = kind, trainer, values, given

    def submission(self, user: users.User) -> Submission:
        """Failure for what is not valid."""
        given = {**self._given, "user": User(name=user.name, id=user.id)}
        if issubclass(self._kind, LauncherJob) and not self._values["ssh-secret"]:
            given["ssh_keys"] = ssh_keys.made()
        try:
            wanted = submissions.submission(self._kind, self._values, given)
            for problem in checks.problems(wanted):
                raise problem
        except Problem as problem:
            raise Failure(problem.what, problem.cause, problem.hint, ExitCode.USAGE) from None
        return wanted


def _command(words: Sequence[str]) -> str:
    """One word is a line for a shell; several are a program and its arguments, which arrive as they are."""
    return words[0] if len(words) == 1 else shlex.join(words)


async def _submitted(client: Client, target: Target, asked: _Asked, dry_run: DryRun) -> Job | None:
    """None after a dry run."""
    isolation = await users.isolation_of(client, target.connection, target.namespace, users.ARENA_NAMESPACE)
    wanted = asked.submission(isolation.user)
    plan = await preparing.planned(client, asked.trainer, wanted, isolated=isolation.isolated)
    await _warn(client, target, wanted, plan)
    objects = [plan.config_map, *plan.objects]
    if dry_run.by_client:
        dry_run.print_manifests(objects)
        return None
    await submitting.check(client, plan)
    if dry_run.by_server:
        made = await creating.create(client, objects, show_created(dry_run), dry_run=True)
        dry_run.print_manifests([each.obj for each in made])
        return None
    job = await submitting.submit(client, plan, _report(dry_run), _undone)
    dry_run.print_manifests([job])
    return _found(job)


def _found(job: Obj) -> Job:
    return Job(resource_of(job), Key.of(job), job)


def _report(dry_run: DryRun) -> submitting.Report:
    def report(line: str, done: str) -> None:
        if done != "created":
            return
        if dry_run.output == "name":
            click.echo(line)
        elif not dry_run.output:
            speaking.say(text("{name} created", name=line))

    return report


def _undone() -> None:
    speaking.note(text("What was created before the error is deleted again."))


async def _warn(client: Client, target: Target, wanted: Submission, plan: Plan) -> None:
    """What will not happen, although it was asked for, and what the job will wait for."""
    embedded = await running.is_on_this_machine(client, target)
    for notice in checks.unheeded(wanted, embedded):
        speaking.note(notice)
    if wanted.model_name:
        speaking.note(text("The model {name} is written on the job, but not registered.", name=wanted.model_name))
    for reason in obstacles.found(plan.objects) if embedded else ():
        speaking.note(text("The job will wait: {reason}", reason=FromOperator(reason)))
