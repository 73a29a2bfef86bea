# SPDX-License-Identifier: Apache-2.0
"""A worker's connections, and the token with which its agent authenticates."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from springtide.elastic.launcher.output import RankOutput


@dataclass(slots=True)
class WorkerLinks:
    """A worker's connections and output."""

    token: bytes = b""
    """The token that its agent authenticates with; empty while no agent may connect, or until the agent has announced
    one."""
    announced: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the token is known, or will never be."""
    agent: asyncio.StreamWriter | None = None
    rank: asyncio.StreamWriter | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its agent has connected, or is no longer wanted."""
    starting: bool = True
    """Its start is under way."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    output: RankOutput = field(default_factory=RankOutput)

    def expect(self, token: bytes) -> None:
        """The token from now on; empty until the agent announces its own."""
        if not self.settled.is_set():
            self.token = token
            if token:
                self.announced.set()
            else:
                self.announced.clear()

    @property
    def idle(self) -> bool:
        return not self.starting and self.agent is None and self.rank is None

    def give_up(self) -> None:
        self.token = b""
        self.announced.set()
        self.settled.set()
