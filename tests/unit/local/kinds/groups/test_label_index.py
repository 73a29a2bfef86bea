# SPDX-License-Identifier: Apache-2.0
"""Long selectors give the answers of their conditions one by one, without going through them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hypothesis import given
from hypothesis import strategies as st

from springtide.local.controller_manager.selection.ownership import selector_of
from springtide.local.kinds.label_index import LabelIndex
from springtide.local.kinds.label_selectors import Requirement, from_object, parse

VALUES = st.sampled_from(["", "1", "2", "10", "x"])
KEYS = st.sampled_from(["a", "b", "c"])
LISTED = st.builds(
    lambda key, operator, values: Requirement(key, operator, tuple(values)),
    KEYS,
    st.sampled_from(["in", "notin"]),
    st.lists(VALUES, min_size=1, max_size=3),
)
SINGLE = st.builds(
    lambda key, sign, value: Requirement(key, sign, (value,)), KEYS, st.sampled_from(["=", "==", "!="]), VALUES
)
BARE = st.builds(Requirement, KEYS, st.sampled_from(["exists", "!"]))
BOUND = st.builds(
    lambda key, sign, value: Requirement(key, sign, (value,)),
    KEYS,
    st.sampled_from(["gt", "lt"]),
    st.sampled_from(["1", "5"]),
)


@given(st.lists(st.one_of(LISTED, SINGLE, BARE, BOUND), max_size=6), st.dictionaries(KEYS, VALUES))
def test_the_index_decides_as_the_conditions_do(conditions: list[Requirement], labels: dict[str, str]) -> None:
    assert LabelIndex(conditions).matches(labels) is all(condition.matches(labels) for condition in conditions)


class Counted(Mapping[str, str]):
    """Labels that count how often they are looked at."""

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels, self.looks = labels, 0

    def __getitem__(self, key: str) -> str:
        self.looks += 1
        return self.labels[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)


def test_an_object_is_judged_by_its_own_labels_however_many_conditions_there_are() -> None:
    terms = ",".join(f"!k{index},m{index}!=v" for index in range(5000))
    labels = Counted({"a": "1", "b": "2"})
    assert parse(terms).matches(labels)
    assert labels.looks <= 4
    labels = Counted({"a": "1", "b": "2"})
    assert not parse(",".join(f"k{index}" for index in range(5000))).matches(labels)
    assert labels.looks <= 4


def test_a_long_selector_of_a_workload_is_parsed_once() -> None:
    written = {"matchExpressions": [{"key": f"k{index}", "operator": "DoesNotExist"} for index in range(5000)]}
    assert selector_of(written) is selector_of(written)
    assert selector_of(written) == from_object(written)
    many = [{"matchLabels": {"k": f"v{index}", "long": "x" * 1_000_000}} for index in range(40)]
    for one in many:
        selector_of(one)
    assert selector_of(written) == from_object(written)
