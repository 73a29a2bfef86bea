# SPDX-License-Identifier: Apache-2.0
"""Actions that change the membership, to be carried out in this order."""

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
    """End the process of a worker that is not, or no longer, a member."""

    id: int


@dataclass(frozen=True, slots=True)
class Prepare:
    to: tuple[int, ...]
    generation: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """The prepared generation is not entered."""

    to: tuple[int, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class Switch:
    to: tuple[int, ...]
    generation: int
    boundary: int
    source: int
    """The rank of the new generation that sends its state."""
    hold: bool
    """Too few ranks to continue: they wait at once for the next generation."""


@dataclass(frozen=True, slots=True)
class Regroup:
    to: tuple[int, ...]
    generation: int
    members: tuple[Member, ...]
    source: int
    fresh: bool
    """No rank has any state: training begins, or begins again."""
    hold: bool


@dataclass(frozen=True, slots=True)
class Over:
    succeeded: bool
    why: str = ""


MembershipAction: TypeAlias = Spawn | End | Prepare | Cancel | Switch | Regroup | Over
