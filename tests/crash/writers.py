# SPDX-License-Identifier: Apache-2.0
"""Clients that write without pause and keep a journal of what they were promised.

Every object has one writer, so the writer always knows what must be there: the last acknowledged state, or after a
request whose answer never came, that state or the one asked for.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from tests.crash.shapes import KINDS, Kind, Obj, changes, operations, stamp_of, wanted

BROKEN = (aiohttp.ClientError, OSError, TimeoutError)
NAMES_PER_WRITER = 3
ABSENT = ""

_MEDIA = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True)
class Acknowledged:
    """One promise: this object got this state (stamp; empty when deleted) at this revision (0 when not told)."""

    kind: Kind
    name: str
    stamp: str
    revision: int


@dataclass
class Journal:
    """What all clients of one round did and saw."""

    attempts: int = 0
    acknowledged: list[Acknowledged] = field(default_factory=list)
    stamps: set[tuple[str, str, str]] = field(default_factory=set)
    """Plural, name and stamp of everything anybody ever tried to write."""
    violations: list[str] = field(default_factory=list)
    landed: int = 0
    """Writes whose answer was lost but which are there."""
    lost: int = 0
    """Writes whose answer was lost and which are not there; nobody was promised anything."""
    refused: int = 0
    """Writes that were refused because the disk was full."""
    goal: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when as many writes as `goal` says were acknowledged, or when something is wrong already."""


class DiskFull(OSError):
    """A refusal: nothing was written."""


class Api:
    """HTTPS to a server that dies and comes back; `up` says when it is worth trying."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.up = asyncio.Event()
        self.up.set()
        self.may_be_full = False
        """Whether the server's disk was filled: refusals for that reason are no surprise from then on."""

    async def send(self, method: str, path: str, body: Any = None, media: str = "application/json") -> tuple[int, Obj]:
        async with self.session.request(method, path, json=body, headers={"Content-Type": media}) as answer:
            # A group that is served no more is a plain "404 page not found".
            found = await answer.json() if answer.content_type == "application/json" else {}
        if answer.status == 507 and self.may_be_full:
            raise DiskFull(found.get("message"))
        return answer.status, found

    async def insist(self, method: str, path: str, body: Any = None) -> tuple[int, Obj]:
        """Again and again until there is an answer: for requests that may be repeated."""
        while True:
            await self.up.wait()
            try:
                return await self.send(method, path, body)
            except BROKEN:
                await asyncio.sleep(0.02)

    async def served(self, path: str) -> None:
        """Returns when a definition just made is served."""
        for _ in range(4000 if self.may_be_full else 400):
            if (await self.send("GET", path))[0] == 200:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{path} is not served")


class Writer:
    def __init__(self, api: Api, name: str, chance: random.Random, journal: Journal) -> None:
        self._api, self._name, self._chance, self._journal = api, name, chance, journal
        self._known: dict[tuple[Kind, str], tuple[str, str]] = {}  # stamp and resourceVersion
        self._count = 0
        self._revision = 0

    @property
    def expected(self) -> dict[tuple[Kind, str], str]:
        """The stamp of every object of this writer that must be there."""
        return {key: stamp for key, (stamp, _) in self._known.items()}

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._api.up.wait()
            await self._step()

    async def _step(self) -> None:
        kind = self._chance.choice(KINDS)
        name = f"{self._name}-{self._chance.randrange(NAMES_PER_WRITER)}"
        verbs = ("update", "merge", "json", "apply", "delete") if (kind, name) in self._known else ("create", "apply")
        verb = self._chance.choice(verbs)
        self._count += 1
        self._journal.attempts += 1
        stamp = ABSENT if verb == "delete" else f"{self._name}-{self._count}"
        if stamp:
            self._journal.stamps.add((kind.plural, name, stamp))
        try:
            code, answer = await self._send(verb, kind, name, stamp)
        except DiskFull:
            await self._refused(kind, name)
            return
        except BROKEN:
            await self._find_out(kind, name, stamp)
            return
        if code in (200, 201):
            self._promised(kind, name, stamp, answer)
        else:
            self._complain(f"{verb} of {kind.plural}/{name} was refused: {code} {answer.get('message')}")
            await self._find_out(kind, name, stamp)

    async def _send(self, verb: str, kind: Kind, name: str, stamp: str) -> tuple[int, Obj]:
        path = kind.item(name)
        if verb == "delete":
            return await self._api.send("DELETE", path)
        if verb == "create":
            return await self._api.send("POST", kind.collection, wanted(kind, name, stamp))
        if verb == "update":
            return await self._update(kind, name, stamp)
        query = f"?fieldManager={self._name}&force=true" if verb == "apply" else ""
        bodies = {"merge": changes, "json": operations}
        body = bodies[verb](kind, stamp) if verb in bodies else wanted(kind, name, stamp)
        return await self._api.send("PATCH", path + query, body, _MEDIA[verb])

    async def _update(self, kind: Kind, name: str, stamp: str) -> tuple[int, Obj]:
        """Read, change, write back under optimistic locking."""
        code, current = await self._api.send("GET", kind.item(name))
        if code != 200:
            return code, current
        known, version = self._known[kind, name]
        if (stamp_of(kind, current), current["metadata"]["resourceVersion"]) != (known, version):
            self._complain(f"{kind.plural}/{name} is not as acknowledged: expected {known} at {version}")
        change = wanted(kind, name, stamp)
        current["metadata"]["annotations"] |= change["metadata"]["annotations"]
        for part in ("data", "spec"):
            if part in change and kind.payload[0] == part:
                current[part] = change[part]
        return await self._api.send("PUT", kind.item(name), current)

    def _promised(self, kind: Kind, name: str, stamp: str, answer: Obj) -> None:
        revision = int(answer.get("metadata", {}).get("resourceVersion", 0))
        if revision and revision <= self._revision:
            self._complain(f"resourceVersion went back from {self._revision} to {revision} ({kind.plural}/{name})")
        self._revision = max(self._revision, revision)
        self._journal.acknowledged.append(Acknowledged(kind, name, stamp, revision))
        if len(self._journal.acknowledged) >= self._journal.goal:
            self._journal.reached.set()
        if stamp == ABSENT:
            self._known.pop((kind, name))
            return
        if stamp_of(kind, answer) != stamp:
            self._complain(f"the answer for {kind.plural}/{name} is not what was written")
        self._known[kind, name] = (stamp, str(revision))

    async def _refused(self, kind: Kind, name: str) -> None:
        """Nothing was written, so what was acknowledged before must be there."""
        before = self._known.get((kind, name), (ABSENT, ""))[0]
        self._journal.refused += 1
        await self._find_out(kind, name, before)

    async def _find_out(self, kind: Kind, name: str, stamp: str) -> None:
        """The answer never came: either state is right, any other is not."""
        code, answer = await self._api.insist("GET", kind.item(name))
        before = self._known.get((kind, name), (ABSENT, ""))[0]
        found = stamp_of(kind, answer) if code == 200 else ABSENT
        if found not in (before, stamp):
            self._complain(f"{kind.plural}/{name} is {found or 'absent'}, but {before or 'absent'} was acknowledged")
        elif found == stamp:
            self._journal.landed += 1
        else:
            self._journal.lost += 1
        if found == ABSENT:
            self._known.pop((kind, name), None)
        else:
            self._known[kind, name] = (found, answer["metadata"]["resourceVersion"])

    def _complain(self, what: str) -> None:
        self._journal.violations.append(what)
        self._journal.reached.set()
