# SPDX-License-Identifier: Apache-2.0
"""How long there were too few."""

from __future__ import annotations

import pytest

from springtide.elastic.launcher.state_machine.policies.quorum import Quorum, Shortage


@pytest.mark.parametrize(
    ("called", "joined", "enough"), [(1, 0, False), (2, 0, True), (2, 1, False), (2, 2, True), (1, 1, False)]
)
def test_programs_that_load_are_there_until_one_has_joined(called: int, joined: int, enough: bool) -> None:
    assert Quorum(2, called, joined).enough == enough


def test_stretches_add_up_until_somebody_trains() -> None:
    shortage = Shortage(0)
    assert shortage.lasted(5) == 5
    shortage.over(5)
    assert shortage.lasted(10) == 5
    assert shortage.lasted(12) == 7
    shortage.trained()
    shortage.over(12)
    shortage.trained()
    assert shortage.lasted(20) == 0


def test_every_stretch_is_told_once() -> None:
    shortage, few = Shortage(0), Quorum(2, 1, 1)
    assert shortage.notice(few, 1) is None
    assert shortage.notice(few, 3) == "1 of 2 required ranks has started; waiting for more"
    assert shortage.notice(few, 4) is None
    shortage.over(5)
    shortage.lasted(6)
    assert shortage.notice(few, 9) is not None
