# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.bounded_json import MAX_DEPTH, check_depth

LEAVES = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(VALUES, st.integers(0, MAX_DEPTH - 20), st.booleans())
def test_what_is_shallow_passes_whatever_its_strings_are(value: object, around: int, escaped: bool) -> None:
    """Hypothesis nests a handful of levels by itself."""
    for _ in range(around):
        value = ['"[[[[{{{{' * 20, "\\\\", value]
    check_depth(json.dumps(value, ensure_ascii=escaped))


@given(VALUES, st.integers(MAX_DEPTH + 1, 3 * MAX_DEPTH), st.booleans())
def test_what_is_deep_does_not(value: object, around: int, as_objects: bool) -> None:
    for _ in range(around):
        value = {'"]\\': value} if as_objects else ["]]]]\\", value, "\\"]
    with pytest.raises(ValueError, match="levels"):
        check_depth(json.dumps(value))
