# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from springtide.elastic.shared.unauthenticated import Strangers


def test_the_oldest_is_turned_away_when_there_are_too_many() -> None:
    strangers = Strangers[str]()
    assert strangers.come("a", 2) == strangers.come("b", 2) == []
    assert strangers.come("c", 2) == ["a"]
    assert strangers.come("d", 1) == ["b", "c"]


def test_whoever_is_known_takes_no_room() -> None:
    strangers = Strangers[str]()
    strangers.come("a", 1)
    strangers.known("a")
    strangers.known("a")
    assert strangers.come("b", 1) == []
