# SPDX-License-Identifier: Apache-2.0
"""Follows the log of a job's chief, from its first line on, over restarts, until the job has finished.

A follower can be interrupted and called again: it goes on after the last line that it has passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Final

from springtide.cli.jobs import finding, waiting
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.waiting import Observer
from springtide.kube import request
from springtide.kube.client import Client
from springtide.kube.errors import ApiError
from springtide.kube.resources import PODS, Key
from springtide.views import trainers
from springtide.views.trainers import Obj

_LOOK_AGAIN: Final = 0.3
_PROGRESS: Final = b'{"springtide":"progress"'
"""Lines that launchers print for programs."""


class Follower:
    def __init__(self, job: Job, show_line: Callable[[str], None], show_job: Observer) -> None:
        self._job, self._show_line, self._show_job = job, show_line, show_job
        self._passed: dict[tuple[str, int], int] = {}
        """Lines of each run of the chief's container, by pod and number of restarts."""

    async def follow(self, client: Client) -> None:
        """Failure unless the job succeeds."""
        reading = asyncio.ensure_future(self._read_all(client))
        try:
            await waiting.until_finished(client, self._job, show=self._show_job)
        finally:
            # The last lines may arrive after the end of the job.
            await asyncio.wait((reading,), timeout=_LOOK_AGAIN if reading.done() else 2.0)
            reading.cancel()
            with suppress(asyncio.CancelledError, ApiError):
                await reading

    async def _read_all(self, client: Client) -> None:
        while True:
            chief = trainers.chief(self._job.obj, await finding.pods(client, self._job))
            if chief is not None and (run := _run(chief)) is not None:
                with suppress(ApiError):  # a container that has just been replaced, or whose node is away
                    await self._read(client, chief, run)
                if _has_ended(chief):
                    return
            await asyncio.sleep(_LOOK_AGAIN)

    async def _read(self, client: Client, chief: Obj, run: tuple[str, int]) -> None:
        wanted = request.get(PODS, Key.of(chief), "log", {"follow": "true", "container": _container(chief)})
        number = 0
        async with aclosing(client.lines(wanted)) as lines:
            async for line in lines:
                number += 1
                if number > self._passed.get(run, 0):
                    self._passed[run] = number
                    if not line.startswith(_PROGRESS):
                        self._show_line(line.decode(errors="replace"))


def _container(pod: Obj) -> str:
    return str(pod["spec"]["containers"][0]["name"])


def _run(pod: Obj) -> tuple[str, int] | None:
    """None before its first container has started."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        state = status.get("state") or {}
        if status["name"] == _container(pod) and ("running" in state or "terminated" in state):
            return str(pod["metadata"]["uid"]), int(status.get("restartCount") or 0)
    return None


def _has_ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
