# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.kube.merge_patch import difference
from springtide.local.patches import merge_patch
from springtide.local.status import StatusError


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replace"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="add"),
        pytest.param({"a": "b", "b": "c"}, {"a": None, "z": None}, {"b": "c"}, id="remove"),
        pytest.param({"a": {"b": "c", "d": "e"}}, {"a": {"b": None}}, {"a": {"d": "e"}}, id="remove below"),
        pytest.param({"a": ["b"]}, {"a": [1, None]}, {"a": [1, None]}, id="lists are values"),
        pytest.param({"a": "b"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="object for scalar"),
        pytest.param({}, {"a": {"b": None}}, {"a": {}}, id="nulls of new objects vanish"),
        pytest.param({}, {"a": [{"b": None}]}, {"a": [{}]}, id="nulls in new lists vanish"),
        pytest.param({"a": 1}, {}, {"a": 1}, id="nothing"),
    ],
)
def test_merge(target: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy.deepcopy((target, patch))
    assert merge_patch.apply(target, patch) == expected
    assert (target, patch) == before


def test_what_is_not_touched_is_shared() -> None:
    target = {"a": {"x": 1}, "b": {"y": 2}}
    assert merge_patch.apply(target, {"a": {"x": 3}})["b"] is target["b"]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("a", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        (1, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ],
)
def test_only_objects_are_merge_patches(patch: Any, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        merge_patch.apply({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


def documents(nulls: bool) -> st.SearchStrategy[dict[str, Any]]:
    leaf = st.sampled_from([0, 1, "a", *([None] if nulls else [])])
    values = st.recursive(
        leaf, lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("abc"), below, max_size=3)
    )
    return st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(documents(False), documents(True))
def test_a_merge_patch_applied_twice_does_nothing_more(target: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch.apply(target, patch)
    assert merge_patch.apply(once, patch) == once


@given(documents(False), documents(False))
def test_the_difference_of_two_documents_leads_from_one_to_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merge_patch.apply(old, difference(old, new)) == new
