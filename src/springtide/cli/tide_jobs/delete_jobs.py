# SPDX-License-Identifier: Apache-2.0
"""The course of `tide delete JOB …`: looks for all jobs, asks once, deletes those that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from springtide.cli import speaking
from springtide.cli.connecting import Target
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding, users
from springtide.cli.jobs.changing import deleting
from springtide.cli.jobs.changing.deleting import Present
from springtide.cli.jobs.finding import SeveralJobs
from springtide.cli.tide_jobs.output import asking
from springtide.kube.client import Client
from springtide.messages import Text, text
from springtide.views import trainers
from springtide.views.states import FAILED, SUCCEEDED, state_of


class _Looked(NamedTuple):
    there: list[Present]
    failures: list[Failure]


def delete_jobs(target: Target, names: Sequence[str], type_: str, *, yes: bool) -> int:
    """The exit code: that of the first name for which there is nothing to delete."""
    looked = target.talk(lambda client: _look(client, target, names, type_))
    if looked.there and not yes and asking.can_ask() and (question := _question(looked.there)):
        asking.confirm(question, yes=False)

    async def deleted(client: Client) -> None:
        for each in looked.there:
            await deleting.delete(client, each)
            speaking.say(text("Job {name} is deleted.", name=each.key.name))

    target.talk(deleted)
    for failure in looked.failures:
        failure.show()
    return looked.failures[0].exit_code if looked.failures else int(ExitCode.OK)


async def _look(client: Client, target: Target, names: Sequence[str], type_: str) -> _Looked:
    finding.kinds(type_)  # a failure for an unknown type
    isolation = await users.isolation_of(client, target.connection, target.namespace, users.ARENA_NAMESPACE)
    looked = _Looked([], [])
    for name in dict.fromkeys(names):
        try:
            there = await _one(client, target.namespace, name, type_)
            deleting.check_owner(isolation, there)
            looked.there.append(there)
        except Failure as failure:
            looked.failures.append(failure)
    return looked


async def _one(client: Client, namespace: str, name: str, type_: str) -> Present:
    there = await deleting.present(client, namespace, name, trainers.by_word(type_))
    if not there:
        raise await finding.absent(client, namespace, name)
    if len(there) > 1:
        kinds = ", ".join(each.trainer.name for each in there)
        raise SeveralJobs(name, kinds, f"--type {there[0].trainer.name}")
    return there[0]


def _question(there: Sequence[Present]) -> Text | None:
    """None where nothing can be lost."""
    unfinished = [
        (each.found.title, state)
        for each in there
        if each.found and (state := state_of(each.found.obj)) not in (SUCCEEDED, FAILED)
    ]
    if not unfinished:
        return None
    jobs = ", ".join(f"{title} ({state})" for title, state in unfinished)
    if len(there) == 1:
        return text("Delete {jobs}? It has not finished.", jobs=jobs)
    return text("Delete {number} jobs? Not finished: {jobs}.", number=len(there), jobs=jobs)
