# SPDX-License-Identifier: Apache-2.0
"""Whatever decoding lets through must be answered with complaints, never with an exception."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.unit.local.kinds.groups.writing import NOW, created, recorded, strategy_of

from springtide.local.schema.decode import decode
from springtide.local.schema.explain import DecodeError

Place = tuple[str | int, ...]
MISSING = object()
VALUES: tuple[Any, ...] = (MISSING, None, {}, [], "", 0, -1, "x/y", [None], {"": None}, True)
PLAIN = {case["object"]["kind"]: case["object"] for case in recorded("creations.json") if "answer" in case}


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    if place:
        yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*place, index))


def mutilated(obj: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    result = deepcopy(obj)
    inner: Any = result
    for step in place[:-1]:
        inner = inner[step]
    if value is MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return result


def decodable(obj: dict[str, Any]) -> bool:
    try:
        decode(deepcopy(obj), strategy_of(obj)[1])
    except DecodeError:
        return False
    return isinstance(obj.get("metadata"), dict)


@pytest.mark.parametrize("kind", PLAIN)
def test_a_mutilated_object_is_answered_and_not_stumbled_over(kind: str) -> None:
    obj = PLAIN[kind]
    strategy = strategy_of(obj)[0]
    for place in places(obj):
        if place[0] in ("kind", "apiVersion"):
            continue
        for value in VALUES:
            broken = mutilated(obj, place, value)
            if decodable(broken):
                new, errors = created(broken)
                if not errors:
                    strategy.warnings(new)
                    assert strategy.cells is None or strategy.cells(new, NOW)
