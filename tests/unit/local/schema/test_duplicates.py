# SPDX-License-Identifier: Apache-2.0
"""Duplicate JSON keys are found wherever they are, and only they."""

from __future__ import annotations

import msgspec
import pytest

from springtide.local.schema.duplicates import duplicate_fields


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ('{"a":1,"b":[{"c":1}]}', []),
        ('{"a": 1, "b": "\\u003c"}\n', []),
        ('{"metadata":{"name":"a","name":"b"},"data":{"x":"1","x":"2"}}', ["metadata.name", "data.x"]),
        ('{"l":[{},{"uid":"x","uid":"x"}]}', ["l[1].uid"]),
        ('{"a":1,"a":1,"a":1}', ["a", "a"]),
        ('{"a":{"b":1},"a":{"c":{"d":1,"d":2}}}', ["a", "a.c.d"]),
        ("{}", []),
    ],
)
def test_duplicates_are_reported_with_their_paths(body: str, paths: list[str]) -> None:
    assert duplicate_fields(body.encode(), msgspec.json.decode(body)) == paths
