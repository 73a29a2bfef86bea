# SPDX-License-Identifier: Apache-2.0
"""What a run hears: of hosts, agents, ranks and users, and of time that passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from springtide.elastic.protocol.agent_messages import Beat, Exited, Started
from springtide.elastic.protocol.rank_messages import FromRank

FromAgent: TypeAlias = Beat | Started | Exited
"""Output is a heartbeat here."""
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
    """A start that was under way was abandoned, as was decided."""

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
    """A rank's connection closed. How the rank ended is heard from its agent in a moment."""

    worker: int


@dataclass(frozen=True, slots=True)
class LifeSigns:
    """When workers were last heard of, as a log has it instead of every heartbeat."""

    agents: Times
    ranks: Times


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The user, or a node that is drained, sent the launcher a signal."""

    signal: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The run cannot go on, for a reason outside it."""

    why: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Nothing will be heard of this worker any more."""

    worker: int


@dataclass(frozen=True, slots=True)
class Ticked:
    after: float
    """Seconds since the last one. A launcher that stood still itself cannot blame others for silence."""


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
