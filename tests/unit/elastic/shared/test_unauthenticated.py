# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from springtide.elastic.shared.unauthenticated import Unauthenticated


def test_the_oldest_is_turned_away_when_there_are_too_many() -> None:
    unauthenticated = Unauthenticated[str]()
    assert unauthenticated.add("a", 2) == unauthenticated.add("b", 2) == []
    assert unauthenticated.add("c", 2) == ["a"]
    assert unauthenticated.add("d", 1) == ["b", "c"]


def test_whoever_is_known_takes_no_room() -> None:
    unauthenticated = Unauthenticated[str]()
    unauthenticated.add("a", 1)
    unauthenticated.remove("a")
    unauthenticated.remove("a")
    assert unauthenticated.add("b", 1) == []
