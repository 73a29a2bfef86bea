# SPDX-License-Identifier: Apache-2.0
"""The events of a run: from hosts, agents, ranks and users, and the passing of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from springtide.elastic.protocol.agent_messages import Beat, Exited, Started
from springtide.elastic.protocol.rank_messages import FromRank

FromAgent: TypeAlias = Beat | Started | Exited
"""Output counts as a heartbeat."""
Slots: TypeAlias = Mapping[str, int]
Times: TypeAlias = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class HostsListed:
    """The hosts that a run may use now, and their slots."""

    slots: Slots


@dataclass(frozen=True, slots=True)
class StartFailed:
    worker: int
    why: str


@dataclass(frozen=True, slots=True)
class StartGivenUp:
    """A start that was under way was abandoned, as decided."""

    worker: int


@dataclass(frozen=True, slots=True)
class AgentConnected:
    worker: int


@dataclass(frozen=True, slots=True)
class AgentSent:
    worker: int
    message: FromAgent


@dataclass(frozen=True, slots=True)
class AgentLost:
    worker: int
    why: str


@dataclass(frozen=True, slots=True)
class RankSent:
    worker: int
    message: FromRank


@dataclass(frozen=True, slots=True)
class RankLost:
    """A rank's connection closed. Its agent reports shortly how it ended."""

    worker: int


@dataclass(frozen=True, slots=True)
class LifeSigns:
    """The times of the workers' last heartbeats; a log has it instead of every heartbeat."""

    agents: Times
    ranks: Times


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The launcher got a signal, from the user or because its node is drained."""

    signal: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The run cannot continue, for a reason outside it."""

    why: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The worker has ended for good; no further event is about it."""

    worker: int


@dataclass(frozen=True, slots=True)
class Ticked:
    after: float
    """Seconds since the last tick. If the launcher itself was stalled, silence of others does not count."""


Event: TypeAlias = (
    HostsListed
    | StartFailed
    | StartGivenUp
    | AgentConnected
    | AgentSent
    | AgentLost
    | RankSent
    | RankLost
    | LifeSigns
    | Interrupted
    | Failed
    | Forgotten
    | Ticked
)
