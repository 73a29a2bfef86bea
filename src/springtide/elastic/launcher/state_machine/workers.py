# SPDX-License-Identifier: Apache-2.0
"""Workers, the processes that train: their phases, and how many a run requires."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from springtide.elastic.shared.members import Address


class Phase(Enum):
    STARTING = auto()
    """Its process was started, and has not joined."""
    READY = auto()
    """It has joined, and other ranks can connect to it."""
    MEMBER = auto()
    LEAVING = auto()
    """It was a member, and ends at the boundary of the switch."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One process that trains, from its start to its end."""

    id: int
    host: str
    slot: int
    phase: Phase = Phase.STARTING
    addresses: tuple[Address, ...] = ()
    leaving: bool = False
    """Its host is no longer listed."""
    trained: bool = False
    """It has entered a generation at least once."""
    commit: int = -1
    """The boundary of its newest known commit."""


@dataclass(frozen=True, slots=True)
class Limits:
    start: int
    """Workers required to begin."""
    least: int
    """Workers required to continue."""
    most: int | None = None
    resets: int | None = None
    """How many generations may follow the first."""
