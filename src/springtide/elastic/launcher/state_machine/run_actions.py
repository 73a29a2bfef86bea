# SPDX-License-Identifier: Apache-2.0
"""Actions of a run, to be carried out in this order."""

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
    """A message to ranks."""

    to: tuple[int, ...]
    message: ToRank


@dataclass(frozen=True, slots=True)
class Kill:
    """Signal a rank through its agent; abandon its start if there is no agent yet."""

    id: int
    signal: int


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close a worker's connections, with `Bye`."""

    id: int


@dataclass(frozen=True, slots=True)
class Log:
    """A message to the user."""

    text: str
    detail: bool = False
    """Shown only with --verbose."""


RunAction: TypeAlias = Start | Send | Kill | Disconnect | Log
