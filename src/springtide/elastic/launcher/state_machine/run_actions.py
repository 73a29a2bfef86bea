# SPDX-License-Identifier: Apache-2.0
"""What is to be done in a run, as it was decided and in that order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from springtide.elastic.launcher.state_machine.workers import Worker
from springtide.elastic.protocol.rank_messages import ToRank


@dataclass(frozen=True, slots=True)
class Start:
    worker: Worker


@dataclass(frozen=True, slots=True)
class Send:
    """To ranks."""

    to: tuple[int, ...]
    message: ToRank


@dataclass(frozen=True, slots=True)
class Kill:
    """A rank, by its agent; a start that is under way is given up."""

    id: int
    signal: int


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Nothing is heard of this one any more, nor is it to hear anything but a farewell."""

    id: int


@dataclass(frozen=True, slots=True)
class Log:
    """The user."""

    text: str
    detail: bool = False
    """Only where everything is told."""


RunAction: TypeAlias = Start | Send | Kill | Disconnect | Log
