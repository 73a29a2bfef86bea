# SPDX-License-Identifier: Apache-2.0
"""A process that trains, as the launcher knows it; and how many of them a run takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from springtide.elastic.shared.members import Address


class Phase(Enum):
    STARTING = auto()
    """Its process was started, and has not been heard of."""
    READY = auto()
    """It can be reached by others."""
    MEMBER = auto()
    LEAVING = auto()
    """It was a member, and goes when it comes to the boundary it was told."""


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
    """The boundary of its newest commit, as far as it is known."""


@dataclass(frozen=True, slots=True)
class Limits:
    start: int
    """Workers it takes to begin."""
    least: int
    """Workers it takes to go on."""
    most: int | None = None
    resets: int | None = None
    """How many generations may follow the first."""
