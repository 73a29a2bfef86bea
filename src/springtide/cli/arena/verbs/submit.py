# SPDX-License-Identifier: Apache-2.0
"""`arena submit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session, in_one_line
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.errors import Failure
from springtide.cli.flags import submissions, tables
from springtide.cli.flags.pflag import Parsed
from springtide.cli.jobs.changing import obstacles, preparing, running, ssh_keys, submitting
from springtide.cli.jobs.changing.submitting import Plan
from springtide.cli.jobs.tensorboard import tensorboard_processes
from springtide.cli.jobs.users import Isolation
from springtide.kube.client import Client
from springtide.kube.resources import Obj
from springtide.manifests.submissions import checks, commands
from springtide.manifests.submissions.problems import Problem
from springtide.manifests.submissions.submission import (
    DeepSpeedJob,
    EtJob,
    LauncherJob,
    MpiJob,
    PyTorchJob,
    Submission,
    TfJob,
    User,
)
from springtide.messages import Language, shown
from springtide.views import trainers
from springtide.views.trainers import Trainer


def _verb(kind: type[Submission], trainer: Trainer) -> Verb:
    def submit(session: Session, line: Parsed) -> None:
        command = commands.joined(" ".join(line.arguments))
        if command.lines_joined:
            session.log.info("The command's lines that begin with an option were joined to the line before them")
        with in_arenas_words():
            wanted = session.talk(lambda client: _submit(session, client, line, command.command))
        name, shown_type = line.values["name"], trainer.name
        session.log.info(f"The Job {name} has been submitted successfully")
        where = f" -n {session.namespace}" if session.globals["namespace"] else ""
        session.log.info(f"You can run `arena get {name} --type {shown_type}{where}` to check the job status")
        if wanted.tensorboard is not None:
            _show_tensorboard(session, name)

    async def _submit(session: Session, client: Client, line: Parsed, command: str) -> Submission:
        isolation = await session.isolation(client)
        given = _given(session, isolation, command)
        if issubclass(kind, LauncherJob) and not line.values["ssh-secret"]:
            given["ssh_keys"] = ssh_keys.made()
        if kind is TfJob:
            given["role_sequence"] = session.config.get("tfjob_role_sequence", "")
        wanted = _wanted(kind, line, given)
        plan = await preparing.planned(client, trainer, wanted, isolated=isolation.isolated)
        await submitting.check(client, plan)
        await submitting.submit(client, plan, _report, lambda: _undone(session, plan))
        await _warn(session, client, wanted, plan.objects)
        return wanted

    return Verb(tables.FLAGS[kind], submit, "not found command args")


def _given(session: Session, isolation: Isolation, command: str) -> dict[str, Any]:
    """What no flag says; the rest is from Arena's config file."""
    pull_secrets = session.config.get("imagePullSecrets", "")
    return {
        "namespace": session.namespace,
        "command": command,
        "user": User(name=isolation.user.name, id=isolation.user.id),
        "image_pull_secrets": tuple(pull_secrets.split(",")) if pull_secrets else (),
    }


def _wanted(kind: type[Submission], line: Parsed, given: dict[str, Any]) -> Submission:
    try:
        wanted = submissions.submission(kind, line.values, given)
        for problem in checks.problems(wanted):
            raise problem
    except Problem as problem:
        raise ArenaError(problem.arena) from None
    return wanted


def _report(line: str, done: str) -> None:
    print(f"{line} {done}", flush=True)


def _undone(session: Session, plan: Plan) -> None:
    config_map = plan.config_map["metadata"]
    session.log.info(
        f"Successfully clean up the config map {config_map['name']} in namespace {config_map['namespace']} "
        "because creating application failed."
    )


async def _warn(session: Session, client: Client, wanted: Submission, objects: Sequence[Obj]) -> None:
    """What will not happen, although it was asked for."""
    local = await running.is_on_this_machine(client, session.target)
    for notice in checks.unheeded(wanted, local):
        session.log.warn(shown(notice, Language.ENGLISH))
    if wanted.model_name:
        session.log.warn(
            f"The model {wanted.model_name} is written on the job, but not registered: no MLflow server is asked"
        )
    for reason in obstacles.found(objects) if local else ():
        session.log.warn(f"The job waits: {reason}")


def _show_tensorboard(session: Session, name: str) -> None:
    """The job is submitted whether or not there is one."""
    options = tensorboard_processes.options(name, session.namespace, session.globals["config"])
    try:
        started = tensorboard_processes.start(options, lambda why: session.log.info(shown(why, Language.ENGLISH)))
    except (Failure, OSError) as error:
        reason = in_one_line(error) if isinstance(error, Failure) else str(error)
        session.log.warn(f"{reason}; try again with `tide tensorboard {name} -d`")
        return
    print(f"Your tensorboard will be available on: {started.url}", flush=True)
    if started.waits is not None:
        session.log.info("TensorBoard does not answer yet, but will as soon as it can")


ETJOB: Final = _verb(EtJob, trainers.ETJOB)
DEEPSPEEDJOB: Final = _verb(DeepSpeedJob, trainers.DEEPSPEEDJOB)
MPIJOB: Final = _verb(MpiJob, trainers.MPIJOB)
PYTORCHJOB: Final = _verb(PyTorchJob, trainers.PYTORCHJOB)
TFJOB: Final = _verb(TfJob, trainers.TFJOB)
