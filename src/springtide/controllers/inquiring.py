# SPDX-License-Identifier: Apache-2.0
"""Looks up what kubelets and the Job controller say in events alone: that a volume cannot be mounted, that a pod is
refused.

Events are read of one object of a job that makes no progress, by one bounded request at a time, a few a second for the
whole operator. The answer is kept while the job asks, and looked up again after a minute.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from springtide.controllers.caches import Caches, JobKey
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
"""Questions that may wait; jobs ask again."""
LIMIT: Final = 50
"""Events of one object that are read."""
_BESIDE_THE_POINT: Final = frozenset({"FailedScheduling", "FailedToRetrieveImagePullSecret"})
"""Of a pod that is on a node: what was before, and what keeps nothing from starting."""


class EventView(msgspec.Struct, rename="camel"):
    reason: str = ""
    message: str = ""
    last_timestamp: str | None = None
    event_time: str | None = None
    """Of those that are no series of the old kind."""

    @property
    def at(self) -> str:
        """Both are written so that later ones sort after earlier ones."""
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
        """`answered` is called for each job of which something new is known."""
        self._client, self._caches, self._answered, self._clock = client, caches, answered, clock
        self._questions: dict[JobKey, _Question] = {}
        self._queue: asyncio.Queue[JobKey] = asyncio.Queue(QUEUED)

    def ask(self, key: JobKey, uid: str) -> None:
        """Returns at once. The same question within a minute is not asked again."""
        known = self._questions.get(key)
        if known is not None and known.uid == uid and self._clock() - known.asked < ASK_AGAIN.total_seconds():
            return
        try:
            self._queue.put_nowait(key)
        except asyncio.QueueFull:
            return
        self._questions[key] = _Question(uid, self._clock())

    def forget(self, key: JobKey) -> None:
        """The job does not ask any more."""
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
