# SPDX-License-Identifier: Apache-2.0
"""What was decided about who trains together, to be carried out in that order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from springtide.elastic.launcher.state_machine.workers import Worker
from springtide.elastic.shared.members import Member


@dataclass(frozen=True, slots=True)
class Spawn:
    worker: Worker


@dataclass(frozen=True, slots=True)
class End:
    """A worker that is not, or no longer, a member: its process is ended."""

    id: int


@dataclass(frozen=True, slots=True)
class Prepare:
    to: tuple[int, ...]
    generation: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """What was prepared does not come to be."""

    to: tuple[int, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class Switch:
    to: tuple[int, ...]
    generation: int
    boundary: int
    source: int
    """The rank in the new generation that has the state."""
    hold: bool
    """Fewer than it takes to go on: wait at once for the next generation."""


@dataclass(frozen=True, slots=True)
class Regroup:
    to: tuple[int, ...]
    generation: int
    members: tuple[Member, ...]
    source: int
    fresh: bool
    """Nobody has any state: training begins, or begins again."""
    hold: bool


@dataclass(frozen=True, slots=True)
class Over:
    succeeded: bool
    why: str = ""


MembershipAction: TypeAlias = Spawn | End | Prepare | Cancel | Switch | Regroup | Over
