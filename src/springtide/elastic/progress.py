# SPDX-License-Identifier: Apache-2.0
"""How far a run has come, for whoever runs it: a line on standard output, and an annotation on the launcher's own pod.

    {"springtide":"progress","at":"2030-01-02T03:04:05.678Z","size":2,"hosts":["a","b"],"step":40,"loss":0.25,…}

Told when the hosts in use or the size change, at once, because whoever drains a host waits for it; otherwise when
anything has changed, at most every ten seconds. Where there is no pod, or its token may not, there is no annotation.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

ANNOTATION: Final = "springtide.dev/progress"
_OFTEN: Final = 10.0
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PATIENCE: Final = 5.0
_AGAIN: Final = 2.0
_UNKNOWN: Final = 401
_REFUSALS: Final = (403, 404)
_TRIES: Final = 5
"""With a token that the API does not know: it may just have been exchanged."""


@dataclass(frozen=True, slots=True)
class Progress:
    size: int
    hosts: tuple[str, ...]
    listing: int
    """How often the hosts that are listed have changed: whoever changed them wants to hear."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """What the program says: step, loss, samples_per_second and whatever else it likes."""

    def written(self, at: datetime) -> str:
        stamp = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        ours = {"springtide": "progress", "at": stamp, "size": self.size, "hosts": list(self.hosts)}
        said = {name: value for name, value in self.words.items() if name not in ours}
        return json.dumps({**ours, **said}, separators=(",", ":"))


class Pace:
    """When it is told. Pure."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._at = 0.0

    def due(self, progress: Progress, now: float) -> bool:
        last = self._last
        if last is not None and progress == last:
            return False
        urgent = last is None or (progress.size, progress.hosts, progress.listing) != (
            last.size,
            last.hosts,
            last.listing,
        )
        if not urgent and now - self._at < _OFTEN:
            return False
        self._last, self._at = progress, now
        return True


class Answer(Enum):
    TAKEN = auto()
    REFUSED = auto()
    """It is no use to try again."""
    UNKNOWN = auto()
    """Who we are: the token is not known, or not any more."""
    AWAY = auto()


@dataclass(frozen=True, slots=True)
class Pod:
    """The pod we run in, and how its API is reached."""

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
        """Blocks."""
        import http.client  # noqa: PLC0415 - most launchers have no pod, and need not wait for it

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


class Notice:
    """The annotation: the newest value, one request at a time."""

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
        """Until it is cancelled, or refused."""
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
        """Wait until the last value is there, for so long at most: who has trained need not wait for an annotation."""
        if self._pod is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._settled.wait()
