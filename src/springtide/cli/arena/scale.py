# SPDX-License-Identifier: Apache-2.0
"""`arena scaleout etjob` and `arena scalein etjob`.

Arena's document shows a ConfigMap beside the ScaleOut. It is made for that: it says what was asked for, and is deleted
with the ScaleOut.
"""

from __future__ import annotations

import time
from typing import Final

import yaml

from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.pflag import Flag, Kind, Parsed
from springtide.cli.arena.session import Session
from springtide.cli.arena.submissions import pairs
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.jobs import finding, scaling, submitting
from springtide.cli.jobs.scaling import Direction, Scaling
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import CONFIGMAPS, Key, Obj
from springtide.manifests.bookkeeping import reference
from springtide.views.jobs import job_view
from springtide.views.trainers import ETJOB

_CHART: Final = "0.1.0"
"""The version that Arena's charts of both operations have."""


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
        wanted = Scaling(
            direction=direction,
            count=line.values["count"],
            timeout=int(line.values["timeout"]),
            retry=line.values["retry"],
            script=line.values["script"],
            variables=pairs(line.values["env"]),
        )
        with in_arenas_words():
            name = session.talk(lambda client: _scaled(client, Key(session.namespace, line.values["name"]), wanted))
        session.log.info(f"The {direction.word} job {name} has been submitted successfully")

    return Verb(flags, scale)


async def _scaled(client: Client, job: Key, wanted: Scaling) -> str:
    found = await finding.one(client, *job, ETJOB)
    scaling.check(job_view(found.job), wanted)
    scaler = await scaling.create(client, job, wanted, int(time.time()))
    name = str(scaler["metadata"]["name"])
    await _keep_beside(client, scaler, wanted.direction)
    print(f"{reference(scaler)} created")
    return name


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
