# SPDX-License-Identifier: Apache-2.0
"""`arena logs`: the log of one instance, the chief's unless another is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from springtide.cli.arena import job_types
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.get import job_of
from springtide.cli.arena.pflag import Flag, Kind, Parsed
from springtide.cli.arena.session import Session
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.jobs import finding, instances
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.instances import NoInstances, NoSuchInstance
from springtide.kube import logs as logs_of
from springtide.kube.client import Client
from springtide.kube.logs import LogOptions
from springtide.kube.request import Request
from springtide.kube.resources import Key, Obj
from springtide.views import log_sources
from springtide.views.ages import instant
from springtide.views.log_sources import LogSource, Wanted
from springtide.views.trainers import Trainer, of_job

_CHIEF: Final = 0
"""The rank of the chief, or of the launcher, whose log has the lines of all ranks."""
_SINCE: Final = re.compile(r"(?:\d+[hms])*")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}


def logs(session: Session, line: Parsed) -> None:
    trainer, name = job_types.chosen(line), line.arguments[0]
    with in_arenas_words():
        session.talk(lambda client: _print(session, client, name, trainer, line))


async def _print(session: Session, client: Client, name: str, trainer: Trainer | None, line: Parsed) -> None:
    job = await job_of(session, client, name, trainer)
    request = await _request(client, job, line.values["instance"], _options(line.values))
    if line.values["follow"]:
        async for each in client.lines(request):
            sys.stdout.buffer.write(each + b"\n")
            sys.stdout.buffer.flush()
    else:
        sys.stdout.buffer.write((await client.raw(request)).body)


async def _request(client: Client, job: Job, instance: str, options: LogOptions) -> Request:
    """For the log of the instance, or of the chief; for a removed one where the cluster keeps its log."""
    pods = await finding.pods(client, job)
    try:
        pod = instances.instance_of(job.obj, pods, instance)
    except (NoInstances, NoSuchInstance):
        kept = await _kept(client, job, pods, Wanted(instance, options.container, None if instance else _CHIEF))
        if kept is None:
            raise
        return logs_of.kept_log(Key(job.key.namespace, kept.kept), replace(options, container=kept.container))
    container = options.container or instances.container_for_log(pod)
    return logs_of.log(Key.of(pod), replace(options, container=container))


async def _kept(client: Client, job: Job, pods: Iterable[Obj], wanted: Wanted) -> LogSource | None:
    """The newest."""
    items = await logs_of.kept(client, job.key.namespace, of_job(job.obj).pods_selector(job.name))
    found = log_sources.of_removed(job.obj, items, (pod["metadata"]["uid"] for pod in pods), wanted)
    return found[-1] if found else None


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
