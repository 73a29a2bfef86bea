# SPDX-License-Identifier: Apache-2.0
"""How long a node has been silent, by the watcher's own clock.

Heartbeats carry timestamps, but only their change counts: the age of a heartbeat is the time for which the watcher has
run since it last saw a new one. After a pause of the watcher itself (the server was restarted, the laptop suspended,
the machine overloaded) the count starts again, so that no node is blamed. Pure: times are monotonic seconds, passed in.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """All in seconds."""

    silence: float = 40.0
    """Silence after which a known node counts as lost."""
    startup: float = 60.0
    """The longer limit for the first heartbeat of a new node."""
    tick: float = 1.0
    """The interval of the watcher's checks."""
    gap: float = 5.0
    """A longer interval between two checks means that the watcher was paused."""


@dataclass(slots=True)
class _Heard:
    sign: Hashable
    since: float


class Heartbeats:
    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._heard: dict[str, _Heard] = {}
        self._looked: float | None = None

    def heard(self, node: str, sign: Hashable, now: float) -> None:
        """Records the node's latest heartbeat; it counts when it differs from the one before."""
        known = self._heard.get(node)
        if known is None or known.sign != sign:
            self._heard[node] = _Heard(sign, now)

    def forget(self, node: str) -> None:
        self._heard.pop(node, None)

    def look(self, now: float) -> None:
        """Called every tick: a gap shows that the watcher was paused."""
        if self._looked is not None and now - self._looked > self._patience.gap:
            self.restart(now)
        self._looked = now

    def restart(self, now: float) -> None:
        """Restarts the count of silence for all nodes."""
        for heard in self._heard.values():
            heard.since = max(heard.since, now)

    def is_silent(self, node: str, now: float, *, new: bool) -> bool:
        """Whether the node counts as lost. `new` nodes have never reported their conditions."""
        heard = self._heard.get(node)
        limit = self._patience.startup if new else self._patience.silence
        return heard is not None and now - heard.since > limit
