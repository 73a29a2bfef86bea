# SPDX-License-Identifier: Apache-2.0
"""The `conditions` of a status: lists of mappings in which each type occurs once.

Lists are never changed in place, because they may belong to a shared informer cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from springtide.kube.resources import Obj

Conditions = Sequence[Obj]


def find(conditions: Conditions, kind: str) -> Obj | None:
    return next((condition for condition in conditions if condition["type"] == kind), None)


def without(conditions: Conditions, kind: str) -> list[Obj]:
    return [condition for condition in conditions if condition["type"] != kind]


def is_true(conditions: Conditions, kind: str) -> bool:
    found = find(conditions, kind)
    return found is not None and found["status"] == "True"
