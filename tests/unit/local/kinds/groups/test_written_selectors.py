# SPDX-License-Identifier: Apache-2.0
"""Selectors that are not parsed select what parsed ones do."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from springtide.local.kinds.label_selectors import from_object
from springtide.local.kinds.written_selectors import WrittenSelector

EXPRESSIONS = [
    {"key": "a", "operator": "In", "values": ["1", "2"]},
    {"key": "a", "operator": "NotIn", "values": ["1"]},
    {"key": "b", "operator": "Exists"},
    {"key": "b", "operator": "DoesNotExist"},
]
LABELS = [{}, {"a": "1"}, {"a": "2"}, {"b": ""}, {"a": "1", "b": "1"}, {"a": "2", "b": ""}, {"c": "1"}]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_written_selectors_match_as_parsed_ones(labels: dict[str, str]) -> None:
    for wanted, count in itertools.product(({}, {"a": "1"}, {"a": "2", "b": ""}), range(3)):
        for expressions in itertools.combinations(EXPRESSIONS, count):
            selector = {"matchLabels": wanted, "matchExpressions": list(expressions)}
            written = msgspec.convert(selector, WrittenSelector)
            assert written.matches(labels) == from_object(selector).matches(labels), selector


def test_an_operator_that_nobody_knows_selects_nothing() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    assert not msgspec.convert(selector, WrittenSelector).matches({"a": "1"})
