# SPDX-License-Identifier: Apache-2.0
"""Progress of a run: a line on standard output, and an annotation on the launcher's own pod.

    {"springtide":"progress","at":"2030-01-02T03:04:05.678Z","size":2,"hosts":["a","b"],"step":40,"loss":0.25,…}

Reported at once when the hosts in use, the size or the membership change, because drains and events of the job wait for
that; otherwise when anything has changed, at most every ten seconds. Without a pod, or without the right to patch it,
there is no annotation. The annotation has the last few membership changes, a line only those that are new.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

from springtide.elastic.launcher.state_machine.membership_changes import Change, Idle

ANNOTATION: Final = "springtide.dev/progress"
_OURS: Final = frozenset({"springtide", "at", "size", "hosts", "training_hosts", "idle", "changes"})
_OFTEN: Final = 10.0
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PATIENCE: Final = 5.0
_AGAIN: Final = 2.0
_UNKNOWN: Final = 401
_REFUSALS: Final = (403, 404)
_TRIES: Final = 5
"""Attempts with a token that the API server does not know: it may just have been replaced."""


@dataclass(frozen=True, slots=True)
class Progress:
    size: int
    hosts: tuple[str, ...]
    listing: int
    """How often the host list has changed; the operator waits for a new number."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """Values that the program reports: step, loss, samples_per_second and others."""
    training_hosts: int | None = None
    """None if not known."""
    idle: tuple[Idle, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def urgent(self) -> tuple[object, ...]:
        """The values whose change is reported at once."""
        newest = self.changes[-1].number if self.changes else 0
        return self.size, self.hosts, self.listing, self.training_hosts, self.idle, newest

    def written(self, moment: Moment, after: int = 0) -> str:
        """As JSON, with the changes of higher numbers than `after`."""
        told = [_change(each, moment) for each in self.changes if each.number > after]
        idle = [_idle(each, moment) for each in self.idle]
        ours = {
            "springtide": "progress",
            "at": moment.stamp(moment.now),
            "size": self.size,
            "hosts": list(self.hosts),
        }
        ours |= {} if self.training_hosts is None else {"training_hosts": self.training_hosts}
        lists = {name: value for name, value in (("idle", idle), ("changes", told)) if value}
        said = {name: value for name, value in self.words.items() if name not in _OURS}
        return json.dumps({**ours, **said, **lists}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Moment:
    """The current time, by the monotonic clock and by the wall clock."""

    now: float
    wall: datetime

    def stamp(self, at: float) -> str:
        """A time of the monotonic clock, in UTC."""
        there = self.wall.astimezone(UTC) + timedelta(seconds=at - self.now)
        return there.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _change(change: Change, moment: Moment) -> dict[str, Any]:
    told: dict[str, Any] = {"number": change.number, "at": moment.stamp(change.at), "what": change.what}
    told |= {"size": change.size, "hosts": list(change.hosts), "count": change.count}
    told |= {} if change.rank is None else {"rank": change.rank}
    return told | ({"why": change.why} if change.why else {})


def _idle(idle: Idle, moment: Moment) -> dict[str, Any]:
    told = {name: value for name, value in (("host", idle.host), ("why", idle.why)) if value}
    return told if idle.until is None else told | {"until": moment.stamp(idle.until)}


class Throttle:
    """When to report. Pure."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._at = 0.0

    def due(self, progress: Progress, now: float) -> bool:
        last = self._last
        if last is not None and progress == last:
            return False
        urgent = last is None or progress.urgent != last.urgent
        if not urgent and now - self._at < _OFTEN:
            return False
        self._last, self._at = progress, now
        return True


class Answer(Enum):
    TAKEN = auto()
    REFUSED = auto()
    """Rejected for good; retries are of no use."""
    UNKNOWN = auto()
    """The API server does not (or no longer) accept the token."""
    AWAY = auto()


@dataclass(frozen=True, slots=True)
class Pod:
    """The launcher's pod, and the address of its API server."""

    host: str
    port: int
    namespace: str
    name: str
    account: Path = _ACCOUNT

    @classmethod
    def found(cls, environment: Mapping[str, str], account: Path = _ACCOUNT) -> Pod | None:
        host, name = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("POD_NAME")
        name = name or environment.get("HOSTNAME")
        if not host or not name or not (account / "token").is_file():
            return None
        try:
            namespace = (account / "namespace").read_text().strip()
            port = int(environment.get("KUBERNETES_SERVICE_PORT_HTTPS") or environment["KUBERNETES_SERVICE_PORT"])
        except (OSError, KeyError, ValueError):
            return None
        return cls(host, port, namespace, name, account)

    def annotate(self, value: str) -> Answer:
        """Sends the patch. Blocks."""
        import http.client  # noqa: PLC0415 - launchers outside pods need not load it

        body = json.dumps({"metadata": {"annotations": {ANNOTATION: value}}})
        try:
            token = (self.account / "token").read_text().strip()
            context = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=_PATIENCE, context=context)
            with contextlib.closing(connection):
                path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
                headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"}
                connection.request("PATCH", path, body, headers)
                status = connection.getresponse().status
        except (OSError, http.client.HTTPException, ValueError):
            return Answer.AWAY
        if status == _UNKNOWN:
            return Answer.UNKNOWN
        if status in _REFUSALS:
            return Answer.REFUSED
        return Answer.TAKEN if status < 300 else Answer.AWAY


class AnnotationWriter:
    """Writes the newest value to the annotation, one request at a time."""

    def __init__(self, pod: Pod | None) -> None:
        self._pod = pod
        self._value: str | None = None
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()

    def put(self, value: str) -> None:
        self._value = value
        self._wanted.set()
        self._settled.clear()

    async def run(self) -> None:
        """Runs until it is cancelled, or until the API server rejects a write for good."""
        unknown = 0
        while self._pod is not None:
            await self._wanted.wait()
            self._wanted.clear()
            assert self._value is not None
            answer = await asyncio.to_thread(self._pod.annotate, self._value)
            unknown = unknown + 1 if answer is Answer.UNKNOWN else 0
            if answer is Answer.REFUSED or unknown == _TRIES:
                break
            if answer is not Answer.TAKEN:
                self._wanted.set()
                await asyncio.sleep(_AGAIN)
            elif not self._wanted.is_set():
                self._settled.set()
        self._pod = None
        self._settled.set()

    async def last(self, patience: float) -> None:
        """Wait until the last value is written, for a limited time, because the run has ended."""
        if self._pod is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._settled.wait()
