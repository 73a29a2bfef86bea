# SPDX-License-Identifier: Apache-2.0
"""What `tide scale`, `scaleout` and `scalein` have in common: the resize with its steps, and its ending."""

from __future__ import annotations

from dataclasses import replace

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing import scaling
from springtide.cli.jobs.changing.scaling import Request, Resize
from springtide.cli.tide_jobs.resizing.step_display import StepDisplay
from springtide.kube.client import Client
from springtide.messages import Text, text
from springtide.views import sizes
from springtide.views.resize_steps import End, Ending


def resize(target: Target, name: str, type_: str, request: Request, *, wait: bool) -> None:
    async def conversation(client: Client) -> tuple[Resize, Ending | None]:
        job = await finding.find(client, target.namespace, name, type_)
        resize = await scaling.begin(client, job, request)
        speaking.note(_announced(resize))
        if resize.is_none or not wait:
            return resize, None
        change, ending = await scaling.observe(client, resize, request.timeout, StepDisplay().show)
        return replace(resize, change=change), ending

    try:
        found, ending = target.talk(conversation)
    except KeyboardInterrupt:
        speaking.note(text("The resize, if it has begun, goes on without this command."))
        speaking.note(text("See it: {command}", command=f"tide get {name}"))
        raise
    if ending is not None:
        _conclude(found, ending)


def _announced(resize: Resize) -> Text:
    change, title = resize.change, resize.job.title
    if resize.is_none:
        return text("{job} has {size} workers already.", job=title, size=change.target)
    allowed = sizes.bounds(resize.job.obj)
    return text(
        "{job}: {start} → {target} workers ({range} allowed)",
        job=title,
        start=change.start,
        target=change.target,
        range=allowed.range,
    )


def _conclude(resize: Resize, ending: Ending) -> None:
    name, size = resize.job.name, resize.change.target
    match ending.how:
        case End.DONE:
            speaking.say(text("Job {name} has {size} workers.", name=name, size=size))
        case End.DEFERRED:
            speaking.say(
                text("Job {name} is to have {size} workers, but does not have them yet.", name=name, size=size)
            )
            speaking.note(text("cause: {message}", message=ending.why))
            if sizes.suspended(resize.job.obj):
                speaking.note(
                    text("hint: {message}", message=text("resume it: {command}", command=f"tide resume {name}"))
                )
            else:
                speaking.note(text("hint: {message}", message=_apply_now(name)))
                click.get_current_context().exit(ExitCode.JOB_NOT_FINISHED)
        case End.TIMED_OUT:
            hint = text("the resize may go on; see why it takes so long: {command}", command=f"tide explain {name}")
            raise Failure(
                text("Job {name} does not have {size} workers in time.", name=name, size=size),
                ending.why,
                hint,
                ExitCode.TIMEOUT,
            )
        case End.FAILED | End.CANCELLED:
            code = ExitCode.ERROR if ending.how is End.FAILED else ExitCode.CANCELLED
            hint = text("see the job: {command}", command=f"tide get {name}")
            raise Failure(text("Job {name} was not resized.", name=name), ending.why, hint, code)


def _apply_now(name: str) -> Text:
    return text("apply it at once, from the last checkpoint: {command}", command=f"tide restart {name}")
