# SPDX-License-Identifier: Apache-2.0
"""YAML as the values of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from springtide.manifests import documents

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{each}: &a{each} [{', '.join([f'*a{each - 1}'] * 10)}]\n" for each in range(1, 30)
)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", []),
        ("a: 1\n---\nb: [x, 1.5, null, true]", [{"a": 1}, {"b": ["x", 1.5, None, True]}]),
        ("when: 2026-01-31", [{"when": "2026-01-31"}]),
        ("when: 2026-01-31T12:00:00Z", [{"when": "2026-01-31T12:00:00Z"}]),
        ("2: a\ntrue: b", [{"2": "a", "true": "b"}]),
        ("a: &a {b: c}\nd: [*a, *a]", [{"a": {"b": "c"}, "d": [{"b": "c"}, {"b": "c"}]}]),
        ("a: &a {b: c}\nd: {<<: *a, e: f}", [{"a": {"b": "c"}, "d": {"b": "c", "e": "f"}}]),
        ("a: 18446744073709551615", [{"a": 18446744073709551615}]),
    ],
)
def test_values_are_those_of_json(content: str, found: list[Any]) -> None:
    assert documents.read(content) == found


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (BOMB, "its aliases stand for more than an object can hold"),
        ("&a [*a]", "an alias stands for what it is in"),
        ("a: &a\n  b: {c: *a}", "an alias stands for what it is in"),
        ("[" * 100_000, "it is nested more than 200 levels deep"),
        ('{"a": ' * 900 + "1" + "}" * 900, "it is nested more than 200 levels deep"),
        ("{a: " * 100_000, "it is nested more than 200 levels deep"),
        ("a: .nan", "nan is no number of JSON"),
        ("a: -.inf", "-inf is no number of JSON"),
        (f"a: {10**30}", "the number 10000000000000000000… has more than 64 bits"),
        ("a: !!binary aGk=", "a value is a bytes, which JSON does not have"),
        ("a: !!set {b, c}", "a value is a set, which JSON does not have"),
        ("1.5: a", "a key is a float, which JSON does not have"),
        ("null: a", "a key is a NoneType, which JSON does not have"),
    ],
)
def test_what_json_cannot_say_is_an_error(content: str, why: str) -> None:
    with pytest.raises(ValueError, match="^" + why.replace("(", r"\(")):
        documents.read(content)


@pytest.mark.parametrize("content", ["a: !!python/object:os.system {}", "a: [", "\x00", "? [a]\n: b"])
def test_what_is_no_yaml_is_an_error(content: str) -> None:
    with pytest.raises((yaml.YAMLError, ValueError)):
        documents.read(content)


PRINTED = st.text(st.characters(categories=["L", "N", "P", "Zs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | PRINTED,
    lambda inner: st.lists(inner) | st.dictionaries(PRINTED, inner),
)


@given(VALUES)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    assert documents.read(json.dumps(value)) == [value]


@given(VALUES)
def test_yaml_is_read_as_it_was_written(value: Any) -> None:
    assert documents.read(yaml.safe_dump(value, allow_unicode=True)) == [value]
