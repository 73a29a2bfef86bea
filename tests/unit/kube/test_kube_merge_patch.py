# SPDX-License-Identifier: Apache-2.0
"""Merge patches from one object to another; `tests/unit/local/patches` applies them."""

from springtide.kube.merge_patch import difference


def test_a_difference_has_only_what_is_new_and_null_for_what_is_gone() -> None:
    old = {"a": 1, "b": {"c": 1, "d": 2}, "e": [1], "gone": True}
    new = {"a": 1, "b": {"c": 1, "d": 3}, "e": [1, 2]}
    assert difference(old, new) == {"b": {"d": 3}, "e": [1, 2], "gone": None}
    assert difference(old, old) == {}
    assert difference({}, {"b": {}}) == {"b": {}}
