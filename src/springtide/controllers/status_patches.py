# SPDX-License-Identifier: Apache-2.0
"""Merge patches between two statuses of one object. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from springtide.api.kinds.fields import Wire
from springtide.kube.merge_patch import difference
from springtide.kube.resources import Obj

S = TypeVar("S", bound=Wire)


def status_patch(old: S, new: S) -> Obj:
    """A merge patch between two statuses: only differences, with null for removed fields."""
    return difference(_on_wire(old), _on_wire(new))


def _on_wire(status: Wire) -> Obj:
    found: Obj = _in_seconds(msgspec.to_builtins(status, builtin_types=(datetime,)))
    return found


def _in_seconds(value: Any) -> Any:
    """Times in Kubernetes' format: without fractions of seconds."""
    match value:
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case dict():
            return {name: _in_seconds(each) for name, each in value.items()}
        case list() | tuple():
            return [_in_seconds(each) for each in value]
    return value
