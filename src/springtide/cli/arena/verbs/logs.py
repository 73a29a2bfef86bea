# SPDX-License-Identifier: Apache-2.0
"""`arena logs`: the log of one instance, the chief's unless another is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from springtide.cli.arena import job_types
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.arena.verbs.get import job_of
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs.logs import one_log
from springtide.kube.client import Client
from springtide.kube.logs import LogOptions
from springtide.views import tamed
from springtide.views.pages.ages import instant
from springtide.views.trainers import Trainer

_SINCE: Final = re.compile(r"(?:[0-9]{1,12}[hms])*")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}


def logs(session: Session, line: Parsed) -> None:
    trainer, name = job_types.chosen(line), line.arguments[0]
    with in_arenas_words():
        session.talk(lambda client: _print(session, client, name, trainer, line))


async def _print(session: Session, client: Client, name: str, trainer: Trainer | None, line: Parsed) -> None:
    job = await job_of(session, client, name, trainer)

    output, tame = sys.stdout.buffer, tamed.Stream() if sys.stdout.isatty() else None

    def write(data: bytes) -> None:
        output.write(tame.feed(data) if tame else data)
        output.flush()

    try:
        await one_log.show(client, job, line.values["instance"], _options(line.values), write)
    finally:
        if tame:
            output.write(tame.end())


def _options(values: Mapping[str, Any]) -> LogOptions:
    if values["since-time"] and instant(values["since-time"]) is None:
        raise ArenaError(f"failed to validate log args: --since-time: {values['since-time']} is no time (RFC 3339)")
    return LogOptions(
        container=values["container"],
        follow=values["follow"],
        timestamps=values["timestamps"],
        tail=values["tail"] if values["tail"] > 0 else None,
        since_seconds=_since(values["since"]) if values["since"] else None,
        since_time=values["since-time"],
    )


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
