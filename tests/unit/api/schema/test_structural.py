# SPDX-License-Identifier: Apache-2.0
"""Schemas made from types."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import pytest
from msgspec import field

from springtide.api.kinds.fields import Int32, Wire, doc
from springtide.api.schema.structural import merged, schema_of


class Part(Wire, frozen=True, kw_only=True):
    name: str
    count: Annotated[Int32 | None, doc("How many.", minimum=1)] = None


class Whole(Wire, frozen=True, kw_only=True):
    on: bool = False
    since: datetime | None = None
    first_part: Annotated[Part | None, doc(properties={"count": {"maximum": 9}})] = None
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = field(default_factory=dict)
    rest: Annotated[dict[str, Any], doc("Whatever.", {"x-kubernetes-preserve-unknown-fields": True})] = field(
        default_factory=dict
    )


PART = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer", "format": "int32", "description": "How many.", "minimum": 1},
    },
    "required": ["name"],
}


def test_a_type_gives_the_shape_and_its_fields_the_words_and_limits() -> None:
    properties = schema_of(Whole)["properties"]
    assert properties == {
        "on": {"type": "boolean"},
        "since": {"type": "string", "format": "date-time"},
        "firstPart": merged(PART, {"properties": {"count": {"maximum": 9}}}),
        "parts": {"type": "array", "items": PART},
        "byName": {"type": "object", "additionalProperties": PART},
        "rest": {"type": "object", "description": "Whatever.", "x-kubernetes-preserve-unknown-fields": True},
    }
    assert properties["firstPart"]["properties"]["count"]["minimum"] == 1


def test_what_no_kind_uses_is_not_understood() -> None:
    class Strange(Wire, frozen=True, kw_only=True):
        share: float = 0.5

    with pytest.raises(KeyError):
        schema_of(Strange)
