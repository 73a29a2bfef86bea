# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.controller_manager.garbage_collection.owner_cycles import cycles


@pytest.mark.parametrize(
    ("owners", "found"),
    [
        ({}, []),
        ({"a": []}, []),
        ({"a": ["a"]}, ["a"]),
        ({"a": ["b"], "b": ["a"]}, ["ab"]),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, ["abc"]),
        ({"a": ["b"], "b": ["c"], "c": []}, []),
        ({"a": ["x"], "b": ["a"]}, []),  # x does not wait
        ({"a": ["b"], "b": ["a"], "c": ["a"], "a1": ["c"]}, ["ab"]),  # what hangs from a cycle is not in it
        ({"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["c"]}, ["ab", "cd"]),  # one cycle hangs from another
        ({"a": ["b", "c"], "b": ["a"], "c": ["a"]}, ["abc"]),  # two cycles through one object
        ({"a": ["a", "b"], "b": []}, ["a"]),
    ],
)
def test_members_of_cycles_are_found_and_no_others(owners: dict[str, list[str]], found: list[str]) -> None:
    assert sorted("".join(sorted(members)) for members in cycles(owners)) == found


def test_a_chain_or_a_cycle_may_be_longer_than_the_stack() -> None:
    chain = {str(number): [str(number + 1)] for number in range(50_000)}
    assert cycles(chain) == []
    assert [len(members) for members in cycles(chain | {"50000": ["0"]})] == [50_001]
