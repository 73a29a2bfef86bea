# SPDX-License-Identifier: Apache-2.0
"""The shim's own JSON is JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from springtide.local.runtime.shim import json_lines

LEAVES = (
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text()
)
VALUES = some.recursive(LEAVES, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=20)


@given(VALUES)
def test_what_it_writes_others_read(value: Any) -> None:
    assert json.loads(json_lines.encode(value)) == value


@given(VALUES)
def test_it_reads_what_others_write(value: Any) -> None:
    assert json_lines.decode(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["", "{", "nonsense", '{"a"', "[1,]"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_lines.decode(text)
