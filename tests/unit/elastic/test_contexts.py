# SPDX-License-Identifier: Apache-2.0
"""What lasts as long as a generation: it is made with it, settled before anything is kept, and closed after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from springtide.elastic import State, context
from springtide.elastic.context import Context
from springtide.elastic.groups import BrokenError
from springtide.elastic.membership import Member
from springtide.elastic.session import Entry


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
