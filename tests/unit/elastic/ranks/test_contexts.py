# SPDX-License-Identifier: Apache-2.0
"""What lasts as long as a generation: it is made with it, settled before anything is kept, and closed after it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from springtide import elastic
from springtide.elastic import State
from springtide.elastic.groups import BrokenError
from springtide.elastic.ranks import context
from springtide.elastic.ranks.context import Context
from springtide.elastic.ranks.session import Entry, Place
from springtide.elastic.shared.members import Member


class Attachment:
    def __init__(self, now: Context) -> None:
        self.heard: list[str] = []
        self.broken = False
        now.attachments.append(self)

    def settle(self) -> None:
        self.heard.append("settle")
        if self.broken:
            raise BrokenError("cut short")

    def abort(self) -> None:
        self.heard.append("abort")

    def close(self) -> None:
        self.heard.append("close")


class Link:
    place = type("Place", (), {"worker": 1, "host": "a"})()
    connections = type("Connections", (), {"forget": lambda self, before: None})()
    boundary = 0

    def on_break(self, interrupt: Any) -> None:
        self.interrupt = interrupt

    def superseded(self) -> bool:
        return False

    def stand(self, commit: int) -> Entry | None:
        return None

    def soon_superseded(self) -> bool:
        return True


def entry(generation: int) -> Entry:
    return Entry(generation, (Member(1, 0, "a", 0, ()),), 0, graceful=True)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Context:
    found = Context(None)
    found.session = Link()  # type: ignore[assignment]
    monkeypatch.setattr(context, "_current", found)
    return found


def test_one_is_made_in_every_generation_and_closed_after_it(now: Context) -> None:
    made: list[Attachment] = []
    now.attach = lambda now: made.append(Attachment(now))
    assert not now.lost_touch()
    now.enter(entry(1))
    now.enter(entry(2))
    assert [each.heard for each in made] == [["close"], []]
    assert now.attachments == made[1:]
    assert now.lost_touch()


def test_a_death_aborts_it(now: Context) -> None:
    now.attach = Attachment
    now.enter(entry(1))
    now.session.interrupt()  # type: ignore[union-attr]
    (attached,) = now.attachments
    assert attached.heard == ["abort"]  # type: ignore[attr-defined]


def test_what_may_be_wrong_is_not_kept(now: Context) -> None:
    attached = Attachment(now)
    state = State(weights=np.zeros(1))
    state.commit()
    state.weights += 1
    attached.broken = True
    with pytest.raises(BrokenError):
        state.commit()
    state.restore()
    assert state.weights.tolist() == [0.0]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a rank, before anybody has asked for anything."""
    monkeypatch.setattr(context, "_current", None)
    monkeypatch.setattr(context, "_told", None)
    for name, value in {"COORDINATOR": "127.0.0.1:1", "WORKER": "5", "SIZE": "4", "SLOT": "2"}.items():
        monkeypatch.setenv(f"TIDE_{name}", value)


@pytest.mark.usefixtures("launched")
def test_before_it_trains_a_program_is_told_what_its_launcher_expects() -> None:
    assert (elastic.rank(), elastic.size(), elastic.local_rank()) == (3, 4, 2)


@pytest.mark.usefixtures("launched")
def test_a_program_without_a_launcher_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDE_COORDINATOR")
    assert (elastic.rank(), elastic.size(), elastic.local_rank()) == (0, 1, 0)
    assert elastic.broadcast("word") == "word"


def test_nothing_is_done_together_before_it_trains(now: Context) -> None:
    for together in (elastic.barrier, lambda: elastic.allreduce(np.ones(1)), lambda: elastic.broadcast(1)):
        with pytest.raises(RuntimeError, match=r"under elastic\.run"):
            together()


@pytest.mark.parametrize(("told", "heard"), [(None, []), (1, []), (3, [(3, 1)])])
def test_a_program_that_was_told_another_size_before_hears_of_the_right_one(
    now: Context, monkeypatch: pytest.MonkeyPatch, told: int | None, heard: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(context, "_told", told)
    first = Entry(1, (Member(1, 0, "a", 0, ()),), 0, graceful=False, fresh=True)
    monkeypatch.setattr(now.session, "begin", lambda: first, raising=False)
    monkeypatch.setattr(now.session, "send", lambda _: None, raising=False)
    resized: list[tuple[int, int]] = []
    now.on_resize.append(lambda old, new: resized.append((old, new)))
    State(rate=0.1).begin()
    assert resized == heard


@pytest.mark.usefixtures("launched")
def test_a_process_that_a_rank_starts_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDE_SECRET_FD", "99")
    monkeypatch.setattr(Place, "read", lambda environment: None)
    context.current()
    assert "TIDE_WORKER" in os.environ, "what says where it runs stays"
    program = "from springtide import elastic; elastic.on_resize(print); print(elastic.rank(), elastic.size())"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert child.stdout.split() == ["0", "1"]
