# SPDX-License-Identifier: Apache-2.0
"""How long a node has been silent, by the watcher's own clock.

A node's signs of life carry times of their own, but only their changing counts: the age of a heartbeat is the time that
the watcher has run since it last saw a new one. A watcher that was itself not running (the server was restarted, the
laptop suspended, the machine overloaded) has not listened, so it blames nobody and counts anew. Pure: times are
monotonic seconds, passed in.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """All in seconds."""

    silence: float = 40.0
    """A node that was heard before is given up after so long."""
    startup: float = 60.0
    """A new node may take longer to be heard for the first time."""
    tick: float = 1.0
    """How often the watcher looks."""
    gap: float = 5.0
    """A watcher that has not looked for longer has not listened either."""


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
        """The node's latest sign of life is this; it counts when it is another than before."""
        known = self._heard.get(node)
        if known is None or known.sign != sign:
            self._heard[node] = _Heard(sign, now)

    def forget(self, node: str) -> None:
        self._heard.pop(node, None)

    def look(self, now: float) -> None:
        """To be called every tick: this is how the watcher knows that it runs itself."""
        if self._looked is not None and now - self._looked > self._patience.gap:
            self.restart(now)
        self._looked = now

    def restart(self, now: float) -> None:
        """Hold nothing that happened until now against anybody."""
        for heard in self._heard.values():
            heard.since = max(heard.since, now)

    def is_silent(self, node: str, now: float, *, new: bool) -> bool:
        """Whether the node is to be given up. `new` nodes have never reported how they are."""
        heard = self._heard.get(node)
        limit = self._patience.startup if new else self._patience.silence
        return heard is not None and now - heard.since > limit
