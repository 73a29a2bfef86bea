# SPDX-License-Identifier: Apache-2.0
"""Indexes by label leave out nothing that a selector matches, and look at little else."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.kube.cache import Cache
from springtide.kube.resources import Key, Obj
from springtide.local.controller_manager.selection import label_postings, selector_postings
from springtide.local.controller_manager.selection.label_postings import MOST_LABELS, postings, selected
from springtide.local.kinds.label_selectors import NOTHING, from_object

LABELS = "labels"
MANY = {f"k{number}": "x" for number in range(MOST_LABELS + 1)}
NAMES, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
SETS = st.dictionaries(NAMES, VALUES) | st.dictionaries(NAMES, VALUES).map(lambda labels: MANY | labels)
WITH_VALUES = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values},
    NAMES,
    st.sampled_from(["In", "NotIn"]),
    st.lists(VALUES, min_size=1, max_size=3, unique=True) | st.just([f"v{number}" for number in range(20)] + ["x"]),
)
WITHOUT = st.builds(
    lambda key, operator: {"key": key, "operator": operator}, NAMES, st.sampled_from(["Exists", "DoesNotExist"])
)
SELECTORS = st.fixed_dictionaries(
    {"matchLabels": st.dictionaries(NAMES, VALUES), "matchExpressions": st.lists(WITH_VALUES | WITHOUT, max_size=3)}
)


def _postings(labels: Mapping[str, str]) -> list[Hashable]:
    return postings("n", labels)


def labelled(*sets: Mapping[str, str]) -> Cache[Mapping[str, str]]:
    cache: Cache[Mapping[str, str]] = Cache()
    cache.add_index(LABELS, _postings)
    for number, labels in enumerate(sets):
        cache.put(Key("n", str(number)), "1", labels)
    return cache


def selecting(selector: Obj | None, number: int = 0) -> Obj:
    return {"metadata": {"namespace": "n", "name": f"s{number}"}, "spec": {"selector": selector}}


@given(st.lists(SETS, max_size=8), SELECTORS)
def test_everything_that_a_selector_matches_is_a_candidate_once(sets: list[dict[str, str]], written: Obj) -> None:
    selector = from_object(written)
    found = selected(labelled(*sets), LABELS, "n", selector)
    matching = [labels for labels in found if selector.matches(labels)]
    assert sorted(map(str, matching)) == sorted(str(labels) for labels in sets if selector.matches(labels))


@given(SETS, st.lists(SELECTORS | st.none(), max_size=8))
def test_every_selector_that_matches_is_a_candidate_once(labels: dict[str, str], written: list[Obj | None]) -> None:
    cache: Cache[Obj] = Cache()
    cache.add_index(selector_postings.INDEX, selector_postings.of_workload)
    for number, selector in enumerate(written):
        cache.put(Key("n", f"s{number}"), "1", selecting(selector, number))
    found = [one["metadata"]["name"] for one in selector_postings.candidates(cache, "n", labels)]
    assert len(found) == len(set(found))
    assert set(found) >= {f"s{n}" for n, selector in enumerate(written) if from_object(selector).matches(labels)}


@pytest.mark.parametrize(
    ("written", "looked_at"),
    [
        ({"matchLabels": {"tier": "crowd", "app": "a1"}}, 1),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a1", "a2", "a100"]}]}, 2),
        ({"matchLabels": {"app": "unknown"}}, 0),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, 50),
        ({}, 50),
    ],
)
def test_the_rarest_label_decides_what_is_looked_at(written: Obj, looked_at: int) -> None:
    cache = labelled(*({"tier": "crowd", "app": f"a{number}"} for number in range(50)))
    assert len(selected(cache, LABELS, "n", from_object(written))) == looked_at


def test_nothing_is_looked_at_for_a_selector_of_nothing() -> None:
    assert selected(labelled({}), LABELS, "n", NOTHING) == []


def test_an_object_with_very_many_labels_has_few_places() -> None:
    assert len(postings("n", MANY)) == 2
    assert label_postings.candidates(labelled(MANY), LABELS, "n", [("k0", ("x",))]) == [MANY]


def test_services_are_found_by_the_pods_that_they_may_select() -> None:
    cache: Cache[Obj] = Cache()
    cache.add_index(selector_postings.INDEX, selector_postings.of_service)
    for number, selector in enumerate([{"a": "x", "b": "y"}, {"b": "y"}, {}, None]):
        cache.put(Key("n", f"s{number}"), "1", selecting(selector, number))
    found = [one["metadata"]["name"] for one in selector_postings.candidates(cache, "n", {"a": "x"})]
    assert found == ["s2", "s0"]
