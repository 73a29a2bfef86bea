# SPDX-License-Identifier: Apache-2.0
"""When a rank or its agent counts as dead, by its last heartbeat. Pure; time is a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from springtide.elastic.launcher.state_machine.workers import Worker

_AGENT_SILENT: Final = 2.0
_PROGRAM_LOADS: Final = 60.0
"""An agent sends nothing while it starts the program, which takes long if the file system has to fetch it first."""
_END_UNTOLD: Final = 1.0
_NAMED: Final = 5


@dataclass(slots=True)
class Process:
    """A worker's process, as the launcher knows it."""

    worker: Worker
    label: str
    since: float = 0.0
    """When it was started."""
    called: bool = False
    """Its agent has connected."""
    started: bool = False
    joined: bool = False
    agent_heard: float = 0.0
    rank_heard: float = 0.0
    rank_closed: float | None = None
    left: float | None = None
    """When the rank left the others on purpose; it ends shortly."""
    ended: bool = False

    def lost(self, now: float) -> str | None:
        """Why the agent counts as dead; None if it does not."""
        silent = _AGENT_SILENT if self.started else _PROGRAM_LOADS
        if self.called and now - self.agent_heard > silent:
            return f"sent no heartbeat for {silent:g} s"
        return None

    def hung(self, now: float, patience: float) -> str | None:
        """Why a rank that has joined, and is not leaving, counts as dead although its agent is alive."""
        if not self.joined or self.left is not None:
            return None
        if self.rank_closed is not None:
            return "closed its connection" if now - self.rank_closed > _END_UNTOLD else None
        return f"sent no message for {patience:g} s" if now - self.rank_heard > patience else None


def place(worker: Worker) -> str:
    return f"{worker.host}:{worker.slot}"


def named(processes: Iterable[Process]) -> str:
    """The first few names; there may be thousands."""
    names = [f"[{process.label}] on {process.worker.host}" for process in processes]
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return " and ".join((*names[:_NAMED], *more))
