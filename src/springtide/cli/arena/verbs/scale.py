# SPDX-License-Identifier: Apache-2.0
"""`arena scaleout etjob` and `arena scalein etjob`.

Arena's document shows a ConfigMap beside the ScaleOut. It is made for that: it says what was asked for, and is deleted
with the ScaleOut.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import yaml

from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing import submitting
from springtide.cli.jobs.changing.scaling import SCALEINS, SCALEOUTS
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import CONFIGMAPS, Key, Obj
from springtide.manifests.bookkeeping import reference
from springtide.manifests.last_applied import with_last_applied
from springtide.manifests.submissions import parsing
from springtide.manifests.submissions.problems import Problem
from springtide.views import sizes
from springtide.views.jobs import job_view
from springtide.views.sizes import Scaler
from springtide.views.trainers import ETJOB

_CHART: Final = "0.1.0"
"""The version that Arena's charts of both operations have."""
_TRIES: Final = 60


class Direction(Enum):
    OUT = SCALEOUTS
    IN = SCALEINS

    @property
    def word(self) -> str:
        """As after `arena`."""
        return self.value.kind.lower()


def _verb(direction: Direction) -> Verb:
    done = "added" if direction is Direction.OUT else "taken away"
    flags = (
        Flag("name", Kind.STRING, "name of the job", required=True),
        Flag("count", Kind.INT, f"number of workers that are {done}", default=1),
        Flag("timeout", Kind.DURATION, "how long that may take, as 5s, 2m, or 3h", short="t", default=60.0),
        Flag("retry", Kind.INT, "how often a failed script is started again"),
        Flag("script", Kind.STRING, "script that the launcher runs"),
        Flag("env", Kind.STRINGS, "environment variable of the script, KEY=VALUE; may be repeated", short="e"),
    )

    def scale(session: Session, line: Parsed) -> None:
        wanted = asked(direction, session.namespace, line.values)
        with in_arenas_words():
            name = session.talk(lambda client: _scaled(client, wanted))
        session.log.info(f"The {direction.word} job {name} has been submitted successfully")

    return Verb(flags, scale)


def asked(direction: Direction, namespace: str, values: Mapping[str, Any]) -> Scaler:
    """Without its name, which has the time in it."""
    count = values["count"]
    if count < 1:
        raise ArenaError(f"failed to validate command args: --count: {count} is less than 1")
    try:
        variables = parsing.pairs("--env", values["env"])
    except Problem as problem:
        raise ArenaError(problem.arena) from None
    return Scaler(
        name="",
        namespace=namespace,
        job=values["name"],
        change=count if direction is Direction.OUT else -count,
        timeout=int(values["timeout"]),
        script=values["script"],
        variables=tuple(sorted(variables.items())),
        retries=values["retry"],
    )


def check(job: Obj, wanted: Scaler) -> None:
    """What Arena checks."""
    view, bounds = job_view(job), sizes.bounds(job)
    if view.arena_status not in ("RUNNING", "SCALING"):
        status = f"the job: {view.name} status: {view.arena_status} , is not RUNNING or SCALING"
        raise ArenaError(f"{status}, please try again later")
    size = view.size + wanted.change
    if wanted.change > 0 and bounds.max is not None and size > bounds.max:
        beyond = "the number of scaling out plus the number of current workers exceeds the max-workers"
        raise ArenaError(f"{beyond}. please try again later")
    if wanted.change < 0 and size < bounds.min:
        beyond = "the number of current workers minus the number of scaling in is less than the min-workers"
        raise ArenaError(f"{beyond}. please try again later")


async def _scaled(client: Client, wanted: Scaler) -> str:
    job = await finding.find(client, wanted.namespace, wanted.job, ETJOB.name)
    check(job.obj, wanted)
    direction = Direction.OUT if wanted.change > 0 else Direction.IN
    scaler = await _created(client, direction, wanted, int(time.time()))
    await _keep_beside(client, scaler, direction)
    print(f"{reference(scaler)} created")
    return str(scaler["metadata"]["name"])


async def _created(client: Client, direction: Direction, wanted: Scaler, now: int) -> Obj:
    """Named after the job and the second; a second that is taken is skipped."""
    for second in range(now, now + _TRIES):
        obj = with_last_applied(wanted._replace(name=f"{wanted.job}-{second}").manifest())
        try:
            return await client.create(direction.value, obj, query=submitting.MANAGER)
        except errors.AlreadyExists:
            continue
    raise ArenaError(f"the job {wanted.job} is scaled too often, please try again later")


async def _keep_beside(client: Client, scaler: Obj, direction: Direction) -> None:
    key = Key(scaler["metadata"]["namespace"], f"{scaler['metadata']['name']}-{direction.word}")
    values = yaml.safe_dump(scaler["spec"], sort_keys=False, allow_unicode=True)
    config_map = {
        **CONFIGMAPS.describe(key),
        "data": {"values": values, "app": reference(scaler), direction.word: _CHART},
    }
    config_map["metadata"]["labels"] = {"createdBy": "arena"}
    try:
        created = await client.create(CONFIGMAPS, config_map)
    except (errors.AlreadyExists, errors.Forbidden):
        return  # the scaler is what counts
    await submitting.own(client, scaler, [(CONFIGMAPS, created)])
    print(f"configmap/{key.name} created\nconfigmap/{key.name} labeled")


SCALE_OUT: Final = _verb(Direction.OUT)
SCALE_IN: Final = _verb(Direction.IN)
