# SPDX-License-Identifier: Apache-2.0
"""The training state: saved in memory at every commit, sent to new ranks, restored after a death.

    state = State(weights=weights, sampler=Sampler(50_000, batch=256), step=0)
    state.step += 1
    state.commit()

Values are plain ones, arrays, mappings and sequences of them, and objects with `state_dict` and `load_state_dict`.
Plain values are pickled for other ranks; so are arrays that are more than their bytes.
"""

from __future__ import annotations

import copy
import logging
import pickle
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from springtide.elastic import leaves
from springtide.elastic.groups import BrokenError, Group
from springtide.elastic.protocol.rank_messages import CheckpointKept, Entered, KeepsCheckpoints, Left
from springtide.elastic.ranks import checkpoints, context, pickles
from springtide.elastic.ranks.session import Entry

logger = logging.getLogger(__name__)

_LENGTH: Final = struct.Struct("!Q")


@dataclass(slots=True)
class Snapshot:
    """All values at one boundary."""

    boundary: int
    size: int
    """The number of ranks."""
    skeleton: Any
    arrays: list[Any]

    @property
    def head(self) -> bytes:
        return pickle.dumps((self.boundary, self.size, self.skeleton))


class State:
    def __init__(self, *, checkpoint: str | Path | None = None, every: int = 1, **values: Any) -> None:
        """With a checkpoint directory every `every`-th commit is written there too, for a run that no rank survives."""
        for name, value in values.items():
            self._refuse(name)
            _try(name, value)
        self._values = dict(values)
        self._files = checkpoints.Checkpoints(Path(checkpoint), every) if checkpoint is not None else None
        self._looked = False
        """The directory has been searched for checkpoints of an earlier run."""
        self._saved: Snapshot | None = None
        self._memory: list[Any] = []
        """The memory into which a new rank receives the state, and which then holds its commits."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"this state has no value {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or "_values" not in self.__dict__:
            object.__setattr__(self, name, value)
            return
        if name not in self._values:
            self._refuse(name)
        self._values[name] = value

    def __delattr__(self, name: str) -> None:
        if self._values.pop(name, self) is self:
            raise AttributeError(f"this state has no value {name!r}")

    def _refuse(self, name: str) -> None:
        """Rejects names that would hide the value, or an attribute of this class."""
        if name.startswith("_") or hasattr(type(self), name):
            raise ValueError(f"a value of a state cannot be called {name!r}")

    # What programs call

    def commit(self) -> None:
        """Save all values, and resize if that is due. Call it between two steps."""
        now = context.current()
        boundary = now.session.boundary + 1 if now.session else (self._saved.boundary + 1 if self._saved else 1)
        now.settle()
        self._saved = self._taken(boundary, now.size)
        if self._files is not None and now.rank == 0:
            self._write(self._files, self._saved, now)
        self.check()

    def check(self) -> None:
        """Resize if that is due, without saving."""
        now = context.current()
        if now.session is None:
            return
        entry = now.session.stand(self.newest)
        if entry is not None:
            now.settle()
            self._switch(entry)

    def restore(self) -> None:
        """Return to the last commit."""
        if self._saved is not None:
            self._put(self._saved.skeleton, self._saved.arrays)

    def sync(self) -> None:
        """All ranks take the first rank's values, and save them like a commit. Call it on all ranks."""
        if context.group().size > 1:
            context.current().settle()
            self._share()

    @property
    def newest(self) -> int:
        """The boundary of the last commit."""
        return self._saved.boundary if self._saved is not None else -1

    # Called by `elastic.run`.

    def begin(self) -> None:
        """Enter the first generation of this process."""
        now = context.current()
        expected = not now.generation and context.expected().rank == 0
        self._probe(first=expected if now.session is not None else now.rank == 0)
        if now.generation:
            self._share()
            return
        if now.session is None:
            loaded = None if self._looked else self._load()
            boundary, old = loaded or (max(self.newest, 0), 1)
            self._saved = self._taken(boundary, old)
            _tell(now, old)
            return
        # Filling memory for the first time takes longer than sending, so it is done before others wait for this rank.
        self._memory = [leaves.twin(each) for each in self._live(0, 1).arrays]
        entry = now.session.begin()
        if entry.graceful:
            now.session.boundary = entry.boundary
            self._enter(entry, newcomer=True)
        else:
            self._regroup(entry)

    def recover(self, why: str) -> None:
        """A rank died: return with the survivors to the newest commit that any of them has."""
        session = context.current().session
        assert session is not None
        self._regroup(session.recover(context.current().generation, self.newest, why))

    def _regroup(self, entry: Entry) -> None:
        now = context.current()
        session = now.session
        assert session is not None
        now.enter(entry)
        if entry.fresh or (now.rank == entry.source and self._saved is None):
            # In the second case all ranks with the state died before they could send it.
            loaded = self._load() if now.rank == entry.source else None
            if loaded is None and now.rank == entry.source:
                self._say_that_it_starts_over(entry.generation)
            # Values that the program derived from the size it was told before are for that size.
            self._saved = self._taken(*(loaded or (0, context.told_size() or now.size)))
        self.restore()
        apart = self._settle(entry, newcomer=self._saved is None)
        if not apart and not entry.fresh and _alike(now.group, self.newest) and self._saved is not None:
            session.boundary, old = self._saved.boundary, self._saved.size
        else:
            old = self._pass_on(now.group, entry, session.boundary, everybody=True)
        self._entered(entry, old)

    def _share(self) -> None:
        """For a process that has trained with others before it reached this state: all start with the first rank's
        values."""
        now = context.current()
        reached = now.session.boundary if now.session is not None else max(self.newest, 0)
        loaded = self._load() if now.rank == 0 and not self._looked else None
        boundary, old = loaded or (0, now.size)
        self._saved = self._taken(max(boundary, reached), old)
        self._looked = True
        entry = Entry(now.generation, (), source=0, graceful=False)
        _tell(now, self._pass_on(now.group, entry, reached, everybody=True))
        self._announce(now)

    def _switch(self, entry: Entry) -> None:
        """Switches at the common boundary; a rank that leaves exits here."""
        session = context.current().session
        assert session is not None
        if entry.place(session.place.worker) is None:
            session.send(Left())
            raise SystemExit(0)
        self._enter(entry, newcomer=False)

    def _enter(self, entry: Entry, *, newcomer: bool) -> None:
        before = context.current().size
        try:
            old = self._entered_together(entry, before, newcomer=newcomer)
        except BrokenError:
            # No rank has taken a step since the boundary, so none has to go back further.
            if not newcomer:
                self._saved = self._taken(entry.boundary, before)
            raise
        self._entered(entry, old if newcomer else before)

    def _entered_together(self, entry: Entry, before: int, *, newcomer: bool) -> int:
        """No member continues before all new members have the state."""
        now = context.current()
        now.enter(entry)
        everybody, old = self._settle(entry, newcomer=newcomer), before
        if everybody or _moves(entry):
            old = self._pass_on(now.group, entry, entry.boundary, everybody=everybody, size=before)
            now.group.allgather(b"")
        return old

    def _settle(self, entry: Entry, *, newcomer: bool) -> bool:
        """Hook after entering a group, before state is sent: returns whether old members receive it too."""
        return False

    def _entered(self, entry: Entry, old: int) -> None:
        now = context.current()
        assert now.session is not None
        now.session.commit = self.newest
        now.session.send(Entered(entry.generation))
        self._announce(now)
        _tell(now, old)
        if entry.hold:
            logger.warning("fewer workers than training needs: waiting for more")
            self._switch(now.session.hold())

    def _pass_on(self, group: Group, entry: Entry, boundary: int, *, everybody: bool, size: int = 0) -> int:
        """Copies the source rank's state to the ranks after it, which are the new ones, or to all ranks. The launcher
        chooses the source (`state_machine.membership`). Returns the number of ranks that the state was made with."""
        if group.rank < entry.source and not everybody:
            return size
        if group.rank == entry.source:
            given = self._saved if not entry.graceful and self._saved is not None else self._live(boundary, size)
            _send(group, entry.source, given, everybody=everybody)
            arrived = given
        else:
            # The transfer may fail, and then the last commit is needed: only a rank without one overwrites its memory.
            memory = self._memory if self._saved is None else []
            arrived = _receive(group, entry.source, memory, everybody=everybody)
            self._put(arrived.skeleton, arrived.arrays)
        if (session := context.current().session) is not None:
            session.boundary = arrived.boundary
        if group.rank != entry.source:
            self._saved = Snapshot(arrived.boundary, arrived.size, copy.deepcopy(arrived.skeleton), arrived.arrays)
        return arrived.size

    def _load(self) -> tuple[int, int] | None:
        """Loads the newest checkpoint of an earlier run; returns its boundary and number of ranks. Boundaries are
        counted on from there, so that the highest one is always the newest. Without a checkpoint training starts
        over."""
        self._looked = True
        found = self._files.newest() if self._files is not None else None
        if found is None:
            return None
        head, arrays = found
        boundary, size, skeleton = pickles.loads(head)
        self._put(skeleton, arrays(leaves.found_in(skeleton)))
        if (step := self._step()) is not None:
            logger.warning("the checkpoint is of step %d", step)
        self._say_kept(context.current())
        return boundary, size

    def _write(self, files: checkpoints.Checkpoints, saved: Snapshot, now: context.Context) -> None:
        wanted = now.session is not None and now.session.keep
        if files.keep(saved.boundary, saved.head, saved.arrays, at_once=wanted):
            if now.session is not None:
                now.session.keep = False
            self._say_kept(now)

    def _announce(self, now: context.Context) -> None:
        """Tells the launcher that there are checkpoints, so that it may request one."""
        if self._files is not None and now.rank == 0 and now.session is not None:
            now.session.send(KeepsCheckpoints())

    def _say_kept(self, now: context.Context) -> None:
        step = self._step()
        if now.session is not None:
            now.session.send(CheckpointKept(step))

    def _step(self) -> int | None:
        """The training step: the value `step`, otherwise the last reported one."""
        given = self._values.get("step")
        return given if type(given) is int else context.current().reported

    def _probe(self, *, first: bool) -> None:
        """Checks whether checkpoints can be written. Only the first rank writes any, but another one may become the
        first later."""
        if self._files is None or self._looked:
            return
        try:
            self._files.probe()
        except OSError as error:
            if first:
                raise
            logger.warning("checkpoints cannot be kept from here: %s", error)

    def _say_that_it_starts_over(self, generation: int) -> None:
        """A restarted launcher does not know that training starts over: then the first generation means that, too."""
        if generation > 1:
            logger.warning("no rank with the training state is left, and there is no checkpoint: training starts over")
        elif self._files is not None:
            logger.warning("there is no checkpoint: training starts from the beginning")

    def _live(self, boundary: int, size: int) -> Snapshot:
        """The current values, valid until the next step."""
        values = {name: _content(self._keeper(name)) for name in self._values}
        return Snapshot(boundary, size, *leaves.taken_apart(values))

    def _taken(self, boundary: int, size: int) -> Snapshot:
        """A copy of the current values; in the memory of the last one if all shapes are unchanged."""
        live = self._live(boundary, size)
        kept = self._saved.arrays if self._saved is not None else self._memory
        if _descriptions(kept) == _descriptions(live.arrays):
            for mine, theirs in zip(kept, live.arrays, strict=True):
                leaves.overwritten(mine, theirs)
            copies = kept
        else:
            copies = [leaves.copied(each) for each in live.arrays]
        self._memory = []
        return Snapshot(boundary, size, copy.deepcopy(live.skeleton), copies)

    def _keeper(self, name: str) -> Any:
        """The object that saves and restores a value: usually the value itself."""
        return self._values.get(name)

    def _put(self, skeleton: Any, arrays: list[Any]) -> None:
        values = leaves.put_together(copy.deepcopy(skeleton), iter(arrays))
        for name, new in values.items():
            held: Any = self._keeper(name)
            if leaves.is_module(held):
                held.load_state_dict(new)  # copies
            elif hasattr(held, "load_state_dict"):
                held.load_state_dict(leaves.refilled(None, new))
            else:
                self._values[name] = leaves.refilled(held, new)


def _tell(now: context.Context, old: int) -> None:
    if old != now.size:
        for told in now.on_resize:
            told(old, now.size)


def _content(value: Any) -> Any:
    return value.state_dict() if hasattr(value, "state_dict") else value


def _try(name: str, value: Any) -> None:
    """Rejects a value that cannot be sent, before training begins."""
    if hasattr(value, "state_dict"):
        return
    skeleton, _ = leaves.taken_apart(value)
    try:
        pickle.dumps(copy.deepcopy(skeleton))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(f"value {name!r} of a state cannot be kept and handed on: {error}") from error


def _descriptions(arrays: list[Any]) -> list[leaves.Leaf | None]:
    return [leaves.described(each) for each in arrays]


def _alike(group: Group, newest: int) -> bool:
    """Whether all ranks have the same commit, so that none needs another's."""
    return len(set(group.allgather(newest.to_bytes(8, "big", signed=True)))) == 1


def _moves(entry: Entry) -> bool:
    """Whether there are new members: they come after the source."""
    return entry.source < len(entry.members) - 1


def _send(group: Group, source: int, given: Snapshot, *, everybody: bool) -> None:
    head = given.head
    group.pass_on(memoryview(bytearray(_LENGTH.pack(len(head)))), source, everybody=everybody)
    group.pass_on(memoryview(bytearray(head)), source, everybody=everybody)
    for array in given.arrays:
        group.pass_on(leaves.view(leaves.in_main_memory(array)), source, everybody=everybody)


def _receive(group: Group, source: int, memory: list[Any], *, everybody: bool) -> Snapshot:
    """Receives into the given memory if its shapes fit."""
    length = bytearray(_LENGTH.size)
    group.pass_on(memoryview(length), source, everybody=everybody)
    head = bytearray(_LENGTH.unpack(length)[0])
    group.pass_on(memoryview(head), source, everybody=everybody)
    boundary, size, skeleton = pickles.loads(head)
    wanted = leaves.found_in(skeleton)
    arrays = memory if _descriptions(memory) == wanted else [leaves.made(leaf) for leaf in wanted]
    for array in arrays:
        group.pass_on(leaves.view(array), source, everybody=everybody)
    return Snapshot(boundary, size, skeleton, arrays)
