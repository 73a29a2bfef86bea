# SPDX-License-Identifier: Apache-2.0
"""`tide get JOB --live`: loss, throughput and workers of a job while it trains.

What happened before is read from the launcher's log. Without a terminal there is a line for each new report.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from springtide.cli import speaking
from springtide.cli.connecting import Target
from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.cli.tide_jobs.output import outputs, screen
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.resources import PODS, Key
from springtide.messages import text
from springtide.views import trainers
from springtide.views.jobs import JobView, job_view
from springtide.views.logs import training_history
from springtide.views.logs.training_history import ANNOTATION, History

_EVERY: Final = 1.0
_LINES: Final = "20000"
_COLOUR: Final = re.compile(r"\x1b\[\d*m")


def show_live(target: Target, name: str, type_: str) -> None:
    async def conversation(client: Client) -> None:
        job: Job | None = await finding.find(client, target.namespace, name, type_)
        live = _Live(client)
        while job is not None:
            if await live.show(job):
                return
            await asyncio.sleep(_EVERY)
            job = await finding.again(client, job)
        speaking.note(text("Job {name} was deleted.", name=name))

    target.talk(conversation)


class _Live:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._history, self._screen = History(), screen.Screen()
        self._read: set[str] = set()
        """Uids of launchers whose log has been read."""
        self._last = ""

    async def show(self, job: Job) -> bool:
        """Whether the job has ended."""
        pods = await finding.pods(self._client, job)
        view, chief = job_view(job.obj, pods), trainers.chief(job.obj, pods)
        if chief is not None:
            await self._read_chief(chief)
        self._history.read_status(view)
        view = outputs.in_words(view)
        if screen.is_live():
            self._draw(view)
        else:
            self._print(view)
        return view.finished

    async def _read_chief(self, chief: Mapping[str, Any]) -> None:
        metadata = chief["metadata"]
        if metadata["uid"] not in self._read and (chief.get("status") or {}).get("phase") != "Pending":
            self._read.add(metadata["uid"])
            self._history.read_log(await self._log(Key(metadata["namespace"], metadata["name"])))
        self._history.read((metadata.get("annotations") or {}).get(ANNOTATION, ""))

    async def _log(self, pod: Key) -> list[str]:
        """Empty if it cannot be read: the curve begins now."""
        try:
            response = await self._client.raw(request.get(PODS, pod, "log", {"tailLines": _LINES}))
        except errors.ApiError:
            return []
        return response.body.decode(errors="replace").splitlines()

    def _draw(self, view: JobView) -> None:
        width = shutil.get_terminal_size().columns - 1
        drawn = "\n".join(training_history.picture(view, self._history, datetime.now(UTC), width))
        coloured = screen.is_coloured()
        self._screen.draw(drawn if coloured else _COLOUR.sub("", drawn), coloured=coloured)

    def _print(self, view: JobView) -> None:
        line = training_history.line(view, self._history)
        if line != self._last:
            speaking.page(line)
            self._last = line
