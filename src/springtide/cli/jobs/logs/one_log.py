# SPDX-License-Identifier: Apache-2.0
"""The log of one instance of a job, byte for byte, as Arena shows it: of the only pod, or else of the chief.

Of an instance that was removed it is the kept log, if the cluster keeps any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from springtide.cli.jobs import finding, instances
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.instances import NoInstances, NoSuchInstance
from springtide.kube import logs
from springtide.kube.client import Client
from springtide.kube.logs import LogOptions
from springtide.kube.request import Request
from springtide.kube.resources import Key
from springtide.views import trainers
from springtide.views.logs import log_sources
from springtide.views.logs.log_sources import LogSource, Wanted


async def show(client: Client, job: Job, instance: str, options: LogOptions, write: Callable[[bytes], object]) -> None:
    """Write the log as it arrives. A Failure of `instances` if there is no such instance, or it has no log yet."""
    wanted = await _request(client, job, instance, options)
    async with aclosing(client.chunks(wanted)) as chunks:
        async for chunk in chunks:
            write(chunk)


async def _request(client: Client, job: Job, instance: str, options: LogOptions) -> Request:
    pods = await finding.pods(client, job)
    try:
        pod = instances.instance_of(job.obj, pods, instance)
    except (NoInstances, NoSuchInstance):
        if (source := await _removed(client, job, instance, options.container)) is None:
            raise
        named = Key(job.key.namespace, source.kept)
        return logs.kept_log(named, replace(options, container=source.container, follow=False))
    chosen = options.container or instances.container_for_log(pod)
    return logs.log(Key.of(pod), replace(options, container=chosen))


async def _removed(client: Client, job: Job, instance: str, container: str) -> LogSource | None:
    selector = trainers.of_job(job.obj).pods_selector(job.name)
    items = await logs.kept(client, job.key.namespace, selector)
    sources = log_sources.of_removed(job.obj, items, (), Wanted(instance, container))
    chief = trainers.chief(job.obj, [item for item in items if trainers.owns(job.obj, item)])
    return _chosen(sources, "" if chief is None else chief["uid"])


def _chosen(sources: Sequence[LogSource], chief: str) -> LogSource | None:
    if len(sources) == 1:
        return sources[0]
    return next((source for source in sources if source.uid == chief), None)
