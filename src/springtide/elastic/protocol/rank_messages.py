# SPDX-License-Identifier: Apache-2.0
"""The messages between the launcher and a rank, and those that open a data connection between ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from springtide.elastic.protocol.agent_messages import Beat, Bye
from springtide.elastic.protocol.codec import Codec, Words
from springtide.elastic.shared.members import Address, Member

# From ranks.


@dataclass(frozen=True, slots=True)
class Join:
    """The rank accepts connections from others, and waits for its first generation."""

    addresses: tuple[Address, ...]
    pid: int = 0


@dataclass(frozen=True, slots=True)
class At:
    """The answer to `Prepare`: the last boundary that the rank passed, and that of its newest commit."""

    generation: int
    boundary: int
    commit: int


@dataclass(frozen=True, slots=True)
class Entered:
    """The rank trains in this generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """A call of the rank's group has failed: another rank is gone, or unreachable."""

    generation: int
    commit: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No address of this other rank can be connected to."""

    generation: int
    id: int


@dataclass(frozen=True, slots=True)
class Left:
    """The rank has left at the boundary where the others continued without it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The rank's training function has returned."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The training progress that the program reports."""

    words: Words


@dataclass(frozen=True, slots=True)
class KeepsCheckpoints:
    """The program keeps checkpoints, so the launcher may ask for one."""


@dataclass(frozen=True, slots=True)
class CheckpointKept:
    """A checkpoint was written, or training continues from one."""

    step: int | None = None


FromRank: TypeAlias = (
    Beat | Join | At | Entered | Trouble | Unreachable | Left | Finished | Progress | KeepsCheckpoints | CheckpointKept
)
FROM_RANK: Final = Codec[FromRank](
    {
        "beat": Beat,
        "join": Join,
        "at": At,
        "entered": Entered,
        "trouble": Trouble,
        "unreachable": Unreachable,
        "left": Left,
        "finished": Finished,
        "progress": Progress,
        "keeps": KeepsCheckpoints,
        "kept": CheckpointKept,
    }
)

# To ranks.


@dataclass(frozen=True, slots=True)
class Prepare:
    """Connect for a future generation, and answer with `At`."""

    generation: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """The prepared generation is not entered."""

    generation: int


@dataclass(frozen=True, slots=True)
class Switch:
    """Enter the generation that was prepared, at this boundary."""

    generation: int
    source: int
    """The rank of the new generation that sends its state."""
    hold: bool
    """Too few ranks to continue: wait at once for the next generation."""
    boundary: int


@dataclass(frozen=True, slots=True)
class Regroup:
    """Drop the step under way, and continue in this generation from the last commit."""

    generation: int
    source: int
    hold: bool
    members: tuple[Member, ...]
    fresh: bool
    """No rank has any state: training begins, or begins again."""


@dataclass(frozen=True, slots=True)
class WriteCheckpoint:
    """Write a checkpoint at the next commit."""


ToRank: TypeAlias = Beat | Prepare | Cancel | Switch | Regroup | WriteCheckpoint | Bye
TO_RANK: Final = Codec[ToRank](
    {
        "beat": Beat,
        "prepare": Prepare,
        "cancel": Cancel,
        "switch": Switch,
        "regroup": Regroup,
        "keep": WriteCheckpoint,
        "bye": Bye,
    }
)

# Among ranks.


@dataclass(frozen=True, slots=True)
class Hello:
    """Opens a connection for the data of a generation, to this rank."""

    generation: int
    to: int


@dataclass(frozen=True, slots=True)
class Here:
    """The answer of the rank that was addressed."""


AmongRanks: TypeAlias = Hello | Here
AMONG_RANKS: Final = Codec[AmongRanks]({"hello": Hello, "here": Here})
