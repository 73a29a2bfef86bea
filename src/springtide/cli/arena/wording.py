# SPDX-License-Identifier: Apache-2.0
"""What Arena says where an operation on a job fails. Its SDKs look for some of these sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from springtide.cli.arena.errors import ArenaError, Listed
from springtide.cli.errors import Failure
from springtide.cli.jobs.changing.deleting import NotYours
from springtide.cli.jobs.changing.preparing import UnknownPriority
from springtide.cli.jobs.changing.submitting import JobExists, LeftOver, NameTaken
from springtide.cli.jobs.finding import JobNotFound, SeveralJobs
from springtide.cli.jobs.instances import NoInstances, NoSuchInstance, NotRunning, SeveralInstances


@contextmanager
def in_arenas_words() -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        for kind, sentence in _SENTENCES.items():
            if isinstance(failure, kind):
                error = Listed if isinstance(failure, SeveralInstances) else ArenaError
                raise error(sentence(failure)) from None
        raise


def _not_found(failure: JobNotFound) -> str:
    place = f"in namespace {failure.namespace},please use 'arena submit' to create it."
    return f"Not found training job {failure.name} {place}"


def _several(failure: SeveralJobs) -> str:
    return (
        f"there are more than 1 training jobs with the same name {failure.name}, "
        f"please check it with `arena list | grep {failure.name}`, and choose one with --type"
    )


def _exists(failure: JobExists) -> str:
    return f"the job {failure.name} is already exist, please delete it first. use 'arena delete {failure.name}'"


def _left_over(failure: LeftOver) -> str:
    name, config_map = failure.name, failure.config_map
    kind = config_map.removeprefix(f"{name}-")
    hint = f"use 'arena delete {name} --type {kind}' if no other submission of it is in progress"
    return f"the job configmap {config_map} is already exist, please delete it first. {hint}"


def _taken(failure: NameTaken) -> str:
    return f"{failure.line} is already exist and not of this job: delete it, or choose another --name"


def _not_yours(failure: NotYours) -> str:
    return "you have no privileges to operate the job,because the owner of job is not you"


def _no_instances(failure: NoInstances) -> str:
    return f"not found instances of the job {failure.job}"


def _no_such_instance(failure: NoSuchInstance) -> str:
    return (
        f"invalid instance name {failure.instance} in job {failure.job},"
        f"please use 'arena get {failure.job}' to make sure instance name"
    )


def _several_instances(failure: SeveralInstances) -> str:
    names = "\n".join(failure.names)
    return (
        f"There is {len(failure.names)} instances have been found:\n\n{names}\n\n"
        "please use '-i' or '--instance' to filter.\n"
    )


def _not_running(failure: NotRunning) -> str:
    return f"instance {failure.pod} is not running: {failure.status}"


def _unknown_priority(failure: UnknownPriority) -> str:
    return (
        f"failed to validate command args: the priority {failure.name} doesn't exist. "
        "Please check with `kubectl get pc` to get a valid priority"
    )


_SENTENCES: Final[dict[type[Failure], Callable[[Any], str]]] = {
    JobNotFound: _not_found,
    SeveralJobs: _several,
    JobExists: _exists,
    LeftOver: _left_over,
    NameTaken: _taken,
    NotYours: _not_yours,
    UnknownPriority: _unknown_priority,
    NoInstances: _no_instances,
    NoSuchInstance: _no_such_instance,
    SeveralInstances: _several_instances,
    NotRunning: _not_running,
}
