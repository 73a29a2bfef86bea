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
