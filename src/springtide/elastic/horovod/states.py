# SPDX-License-Identifier: Apache-2.0
"""Elastic states with Horovod's names and order of events.

Springtide's own state changes groups inside `commit`; Horovod's programs expect an interrupt there, reset callbacks,
and to be called again. Both use the same boundary. The order after it is Horovod's: existing members run the reset
callbacks, which rescale learning rates, and then new members get the state, so that none trains with a stale one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from springtide.elastic.groups import BrokenError
from springtide.elastic.horovod import world
from springtide.elastic.horovod.samplers import ElasticSampler
from springtide.elastic.ranks import context
from springtide.elastic.ranks.session import Entry
from springtide.elastic.ranks.state import State as Base

HorovodInternalError = BrokenError
"""A rank is gone: training returns to the last commit."""


class HostsUpdatedInterrupt(RuntimeError):
    """Ranks join or leave: the training function is left, and called again at the new size."""

    def __init__(self, entry: Entry | None = None) -> None:
        super().__init__("workers come or go")
        self.entry = entry


class State(Base):
    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._values.update(values)  # whatever their names
        self._reset_callbacks: list[Callable[[], None]] = []
        self._began = False

    # What programs call

    def register_reset_callbacks(self, callbacks: Iterable[Callable[[], None]]) -> None:
        self._reset_callbacks.extend(callbacks)

    def check_host_updates(self) -> None:
        """Raises HostsUpdatedInterrupt if ranks join or leave at this boundary."""
        self.check()

    def save(self) -> None:
        now = context.current()
        now.settle()
        self._saved = self._taken(now.session.boundary if now.session else 0, now.size)

    def sync(self) -> None:
        """A no-op: new members got the state when they joined."""

    def reset(self) -> None:
        """Overridden by states that need more than their callbacks after a reset."""

    def on_reset(self) -> None:
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    # What a run does with it

    def begin(self) -> None:
        early = context.entered() is not None
        super().begin()
        if early and world.told_otherwise():
            with world.apart():
                self.on_reset()
        self._go_on()

    def resume(self, entry: Entry) -> None:
        """Enter the generation that an interrupt announced."""
        self._enter(entry, newcomer=False)
        self._go_on()

    def recover(self, why: str) -> None:
        super().recover(why)
        self._go_on()

    def _go_on(self) -> None:
        self._began = True
        for value in self._values.values():
            if isinstance(value, ElasticSampler):
                value.reset()

    def _switch(self, entry: Entry) -> None:
        session = context.current().session
        assert session is not None
        if entry.place(session.place.worker) is None:
            super()._switch(entry)
        raise HostsUpdatedInterrupt(entry)

    def _settle(self, entry: Entry, *, newcomer: bool) -> bool:
        if not newcomer:
            with world.apart():
                if self._began or world.told_otherwise():
                    self.on_reset()
        if not entry.graceful:
            if self._saved is not None:  # includes the callbacks' changes
                self._saved = self._taken(self._saved.boundary, self._saved.size)
            return True
        # If callbacks ran collectives alone, the members' states may differ: then all get the state of one.
        apart = bytearray([not newcomer and world.used_apart()])
        context.current().group.broadcast(memoryview(apart), entry.source)
        return bool(apart[0])


ObjectState = State
