# SPDX-License-Identifier: Apache-2.0
"""Complaints in Kubernetes' words."""

from __future__ import annotations

import pytest

from springtide.api import field_errors
from springtide.api.field_errors import FieldError


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (field_errors.required("a"), "Required", "a: Required value"),
        (field_errors.required("a", "say b"), "Required", "a: Required value: say b"),
        (field_errors.invalid("a", -1, "must be 1"), "Invalid", "a: Invalid value: -1: must be 1"),
        (field_errors.invalid("a", None, ""), "Invalid", "a: Invalid value: null"),
        (field_errors.type_invalid("a", {"b": 1}, "no"), "TypeInvalid", 'a: Invalid value: {"b":1}: no'),
        (field_errors.duplicate("a", "b"), "Duplicate", 'a: Duplicate value: "b"'),
        (field_errors.forbidden("a", "not now"), "Forbidden", "a: Forbidden: not now"),
        (field_errors.not_found("a", "b"), "NotFound", 'a: Not found: "b"'),
        (
            field_errors.not_supported("a", "b", ["d", "c"]),
            "NotSupported",
            'a: Unsupported value: "b": supported values: "d", "c"',
        ),
        (field_errors.too_long("a", 9), "TooLong", "a: Too long: may not be more than 9 bytes"),
        (field_errors.too_many("a", 3, 2), "TooMany", "a: Too many: 3: must have at most 2 items"),
    ],
)
def test_a_complaint_names_the_field_and_says_what_is_wrong(error: FieldError, reason: str, words: str) -> None:
    assert (error.reason, str(error)) == (f"FieldValue{reason}", words)


def test_a_long_value_is_cut() -> None:
    assert field_errors.shown("x" * 2000) == '"' + "x" * 1024 + '"...'
    assert len(field_errors.shown([{"a": ["b" * 10_000] * 1000}] * 1000)) < 1100
    assert field_errors.shown({"a": [1, None, "b"], "c": {}}) == '{"a":[1,null,"b"],"c":{}}'


def test_paths_and_messages_are_cut() -> None:
    error = field_errors.invalid("a" * 10_000, "b" * 10_000, "c" * 10_000)
    assert (len(error.field), len(error.message)) == (1027, 11046)


def test_of_too_many_errors_the_first_are_told() -> None:
    wrong = [f"items[{index}]" for index in range(5000)]
    errors = field_errors.collected(lambda: [field_errors.required(path) for path in wrong])
    assert [error.field for error in errors[:1000]] == wrong[:1000]
    assert errors[1000:] == [
        FieldError(
            "FieldValueTooMany",
            "<nil>",
            "Too many: more problems were found than are listed; correct these 1000 first",
        )
    ]


def test_a_thousand_errors_are_not_too_many() -> None:
    errors = field_errors.collected(lambda: [field_errors.required("a")] * 10 + [field_errors.required("b")] * 990)
    assert len(errors) == 1000


def test_the_text_of_all_errors_is_bounded() -> None:
    errors = field_errors.collected(lambda: [field_errors.invalid("a", "", "b" * 30_000) for _ in range(100)])
    assert sum(len(error.message) for error in errors) < 1.1 * 1024 * 1024
    assert "correct these 35 first" in errors[-1].message
