# SPDX-License-Identifier: Apache-2.0
"""Clients that follow one collection over all lives of the server, as an informer does: from the last version seen."""

from __future__ import annotations

import asyncio
import json
import random
from typing import NamedTuple

from tests.crash.shapes import KEPT_UP, Kind, Obj, stamp_of
from tests.crash.writers import BROKEN, Api

_LEAVES = 0.004
"""Chance per event that the watcher itself hangs up and resumes."""


class Seen(NamedTuple):
    change: str
    name: str
    stamp: str
    revision: int


class Watcher:
    def __init__(self, api: Api, kind: Kind, since: int, chance: random.Random) -> None:
        self.kind, self.since = kind, since
        self.seen: list[Seen] = []
        self.resumed = 0
        self.violations: list[str] = []
        self._api, self._chance, self._revision = api, chance, since

    async def run(self, until: str) -> None:
        """Ends when the object called `until` has been seen."""
        while not self._has_seen(until):
            await self._api.up.wait()
            try:
                await self._follow(until)
            except BROKEN:
                await asyncio.sleep(0.01)
            self.resumed += 1

    async def _follow(self, until: str) -> None:
        query = {"watch": "1", "resourceVersion": str(self._revision), "allowWatchBookmarks": "true"}
        async with self._api.session.get(self.kind.collection, params=query) as answer:
            if answer.status != 200:
                self._refused(answer.status, await answer.json())
                return
            async for line in answer.content:
                if not line.endswith(b"\n"):  # cut off by the kill: it will come again
                    return
                if not self._take(json.loads(line)) or self._has_seen(until):
                    return
                if self._chance.random() < _LEAVES:
                    return

    def _has_seen(self, name: str) -> bool:
        return bool(self.seen) and self.seen[-1].name == name

    def _take(self, event: Obj) -> bool:
        change, obj = event["type"], event["object"]
        if change == "ERROR":
            self._refused(obj.get("code", 0), obj)
            return False
        revision = int(obj["metadata"]["resourceVersion"])
        if change == "BOOKMARK":
            self._revision = max(self._revision, revision)
            return True
        if revision <= self._revision:
            self.violations.append(f"watch of {self.kind.plural}: {revision} came after {self._revision}")
        self._revision = revision
        if obj["metadata"]["name"] != KEPT_UP:
            self.seen.append(Seen(change, obj["metadata"]["name"], stamp_of(self.kind, obj), revision))
        return True

    def _refused(self, code: int, status: Obj) -> None:
        """History is kept for 20,000 changes, far more than a round makes, so even 410 would be a loss here."""
        self.violations.append(f"watch of {self.kind.plural} from {self._revision}: {code} {status.get('message')}")
