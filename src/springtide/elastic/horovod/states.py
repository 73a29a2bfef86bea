# SPDX-License-Identifier: Apache-2.0
"""Elastic states with Horovod's names and course of events.

A state of Springtide changes groups inside `commit`; Horovod's programs expect to be interrupted there, told of the
reset, and called again. Both come to the same boundary. The order after that is Horovod's: old hands run the reset
callbacks, which rescale learning rates, and then newcomers get the state, so that nobody trains with a stale one.
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
"""A rank is gone: back to the last commit."""


class HostsUpdatedInterrupt(RuntimeError):
    """Workers come or go: the training function is left, and called again with the new size."""

    def __init__(self, entry: Entry | None = None) -> None:
        super().__init__("workers come or go")
        self.entry = entry


class State(Base):
    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._values.update(values)  # whatever they are called
        self._reset_callbacks: list[Callable[[], None]] = []
        self._began = False

    # What programs call

    def register_reset_callbacks(self, callbacks: Iterable[Callable[[], None]]) -> None:
        self._reset_callbacks.extend(callbacks)

    def check_host_updates(self) -> None:
        """HostsUpdatedInterrupt when workers come or go here."""
        self.check()

    def save(self) -> None:
        now = context.current()
        now.settle()
        self._saved = self._taken(now.session.boundary if now.session else 0, now.size)

    def sync(self) -> None:
        """Nothing is left to do: newcomers have been given the state when they joined."""

    def reset(self) -> None:
        """For states that have more to do after a reset than their callbacks."""

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
        """Go over to the generation that an interrupt was about."""
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
            if self._saved is not None:  # with what the callbacks have changed
                self._saved = self._taken(self._saved.boundary, self._saved.size)
            return True
        # Callbacks that did something on their own leave old hands apart: then all get the state of one.
        apart = bytearray([not newcomer and world.used_apart()])
        context.current().group.broadcast(memoryview(apart), entry.source)
        return bool(apart[0])


ObjectState = State
