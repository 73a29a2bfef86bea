# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from springtide.elastic.shared.unauthenticated import Unauthenticated


def test_the_oldest_is_turned_away_when_there_are_too_many() -> None:
    unauthenticated = Unauthenticated[str]()
    assert unauthenticated.come("a", 2) == unauthenticated.come("b", 2) == []
    assert unauthenticated.come("c", 2) == ["a"]
    assert unauthenticated.come("d", 1) == ["b", "c"]


def test_whoever_is_known_takes_no_room() -> None:
    unauthenticated = Unauthenticated[str]()
    unauthenticated.come("a", 1)
    unauthenticated.known("a")
    unauthenticated.known("a")
    assert unauthenticated.come("b", 1) == []
