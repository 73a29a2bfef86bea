# SPDX-License-Identifier: Apache-2.0
"""Looks up conditions that are reported in events only: a volume that cannot be mounted, a rejected pod.

Kubelets and the Job controller report these. Events are read for one object of a job that makes no progress, with one
bounded request at a time, a few per second for the whole operator. The answer is kept while the job needs it, and
looked up again after a minute.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from springtide.controllers.caches import Caches
from springtide.controllers.job_keys import JobKey
from springtide.jobs.observed import WarningEvent
from springtide.jobs.reporting import quoting
from springtide.jobs.reporting.wait_causes import ASK_AGAIN
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import EVENTS

logger = logging.getLogger(__name__)

PAUSE: Final = 0.2
"""Seconds between two requests."""
QUEUED: Final = 1000
"""The limit of queued questions; jobs ask again."""
LIMIT: Final = 50
"""The limit of events read per object."""
_BESIDE_THE_POINT: Final = frozenset({"FailedScheduling", "FailedToRetrieveImagePullSecret"})
"""For a pod on a node: events of the past, and those that do not prevent a start."""


class EventView(msgspec.Struct, rename="camel"):
    reason: str = ""
    message: str = ""
    last_timestamp: str | None = None
    event_time: str | None = None
    """Set on events that are not series of the old format."""

    @property
    def at(self) -> str:
        """The formats of both times sort lexically."""
        return max(self.last_timestamp or "", self.event_time or "")


class _Page(msgspec.Struct):
    items: list[EventView] | None = None


@dataclass(slots=True)
class _Question:
    uid: str
    asked: float


class Inquirer:
    def __init__(
        self,
        client: Client,
        caches: Caches,
        answered: Callable[[JobKey], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`answered` is called for each job with a new answer."""
        self._client, self._caches, self._answered, self._clock = client, caches, answered, clock
        self._questions: dict[JobKey, _Question] = {}
        self._queue: asyncio.Queue[JobKey] = asyncio.Queue(QUEUED)

    def ask(self, key: JobKey, uid: str) -> None:
        """Returns at once. The same question is not asked again within a minute."""
        known = self._questions.get(key)
        if known is not None and known.uid == uid and self._clock() - known.asked < ASK_AGAIN.total_seconds():
            return
        try:
            self._queue.put_nowait(key)
        except asyncio.QueueFull:
            return
        self._questions[key] = _Question(uid, self._clock())

    def forget(self, key: JobKey) -> None:
        """The job no longer asks."""
        if self._questions.pop(key, None) is not None:
            self._caches.troubles.pop(key, None)

    async def run(self) -> None:
        while True:
            key = await self._queue.get()
            question = self._questions.get(key)
            if question is not None:
                await self._look_up(key, question.uid)
                await asyncio.sleep(PAUSE)

    async def _look_up(self, key: JobKey, uid: str) -> None:
        scope = Scope(key.namespace, fields=f"involvedObject.uid={uid},type=Warning")
        try:
            answer = await self._client.raw(request.list_page(EVENTS, scope, LIMIT))
            found = newest(msgspec.json.decode(answer.body, type=_Page).items or ())
        except (errors.ApiError, msgspec.DecodeError) as error:
            logger.info("Cannot read events in namespace %s: %s", key.namespace, error)
            return
        known = self._questions.get(key)
        if found is None or known is None or known.uid != uid:
            return
        if self._caches.troubles.get(key) != {uid: found}:
            self._caches.troubles[key] = {uid: found}
            self._answered(key)


def newest(events: Iterable[EventView]) -> WarningEvent | None:
    told = [each for each in events if each.reason not in _BESIDE_THE_POINT]
    last = max(told, key=lambda each: each.at, default=None)
    return (
        WarningEvent(quoting.line(last.reason, quoting.REASON), quoting.line(last.message))
        if last is not None
        else None
    )
