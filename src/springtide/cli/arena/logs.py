# SPDX-License-Identifier: Apache-2.0
"""`arena logs`: the log of one instance, the chief's unless another is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from springtide.cli.arena import job_types
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError, Listed
from springtide.cli.arena.get import view_of
from springtide.cli.arena.pflag import Flag, Kind, Parsed
from springtide.cli.arena.session import Session
from springtide.cli.arena.wording import in_arenas_words
from springtide.kube.client import Client
from springtide.kube.request import Request, path_of
from springtide.kube.resources import PODS
from springtide.views.ages import instant
from springtide.views.instances import InstanceView
from springtide.views.jobs import JobView
from springtide.views.trainers import Trainer

_SINCE: Final = re.compile(r"(?:\d+[hms])*")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}
_INITIALISING: Final = ("Init:", "PodInitializing")


def logs(session: Session, line: Parsed) -> None:
    trainer, query, name = job_types.chosen(line), _query(line.values), line.arguments[0]
    with in_arenas_words():
        session.talk(lambda client: _print(session, client, name, trainer, line.values | {"query": query}))


async def _print(
    session: Session, client: Client, name: str, trainer: Trainer | None, values: Mapping[str, Any]
) -> None:
    view = await view_of(session, client, name, trainer)
    instance = chosen(view, values["instance"])
    container = values["container"] or ("init-code" if instance.status.startswith(_INITIALISING) else "")
    query = {**values["query"], **({"container": container} if container else {})}
    request = Request("GET", path_of(PODS, view.namespace, instance.name, "log"), query)
    if values["follow"]:
        async for each in client.lines(request):
            sys.stdout.buffer.write(each + b"\n")
            sys.stdout.buffer.flush()
    else:
        sys.stdout.buffer.write((await client.raw(request)).body)


def chosen(view: JobView, named: str) -> InstanceView:
    """The instance of this name; without one the only instance, or the chief."""
    found = {each.name: each for each in view.instances}
    if named:
        if named not in found:
            raise ArenaError(
                f"invalid instance name {named} in job {view.name},"
                f"please use 'arena get {view.name}' to make sure instance name"
            )
        return found[named]
    if not found:
        raise ArenaError(f"not found instances of the job {view.name}")
    if len(found) == 1:
        return view.instances[0]
    if view.chief is None:
        names = "\n".join(found)
        raise Listed(
            f"There is {len(found)} instances have been found:\n\n{names}\n\n"
            "please use '-i' or '--instance' to filter.\n"
        )
    return view.chief


def _query(values: Mapping[str, Any]) -> dict[str, str]:
    query = {}
    if values["tail"] > 0:
        query["tailLines"] = str(values["tail"])
    if values["since"]:
        query["sinceSeconds"] = str(_since(values["since"]))
    if values["since-time"]:
        if instant(values["since-time"]) is None:
            raise ArenaError(f"failed to validate log args: --since-time: {values['since-time']} is no time (RFC 3339)")
        query["sinceTime"] = values["since-time"]
    for flag in ("follow", "timestamps"):
        if values[flag]:
            query[flag] = "true"
    return query


def _since(text: str) -> int:
    if not _SINCE.fullmatch(text):
        raise ArenaError(
            "failed to validate log args: failed to parse since seconds,invalid format,"
            "should like: ['1h','1m','1s','1h1m1s'...]"
        )
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([hms])", text))


LOGS: Final = Verb(
    (
        job_types.TYPE,
        Flag("follow", Kind.BOOL, "print new lines until the instance ends", short="f"),
        Flag("since", Kind.STRING, "only lines of the last time, as 5s, 2m, or 3h"),
        Flag("since-time", Kind.STRING, "only lines from a time on (RFC 3339)"),
        Flag("tail", Kind.INT, "number of lines from the end; without it all", short="t", default=-1),
        Flag("timestamps", Kind.BOOL, "print the time of each line"),
        Flag("instance", Kind.STRING, "instance whose log is printed", short="i"),
        Flag("container", Kind.STRING, "container whose log is printed", short="c"),
    ),
    logs,
    "not set job name,please set it",
)
