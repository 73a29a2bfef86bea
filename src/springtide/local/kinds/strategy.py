# SPDX-License-Identifier: Apache-2.0
"""What the API server must know of one kind beyond its schema: defaults, rules, columns.

A strategy is plain data and plain functions on decoded objects (dicts), with no I/O. Functions that are not needed
stay at their do-nothing defaults, so a ConfigMap's strategy is three lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from springtide.api.field_errors import FieldError

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `priority` 1 shows only with `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


def _leave(obj: Obj) -> None:
    return None


def _leave_update(new: Obj, old: Obj) -> None:
    return None


def _accept(obj: Obj) -> list[FieldError]:
    return []


def _accept_update(new: Obj, old: Obj) -> list[FieldError]:
    return []


def _no_warnings(obj: Obj) -> list[str]:
    return []


def _quickly(obj: Obj) -> bool:
    return False


def _no_conditions(obj: Obj) -> list[Obj]:
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    default: Callable[[Obj], None] = _leave
    """Fills in what the Go defaulting functions would, in place, after schema defaults. Must be idempotent."""
    prepare_create: Callable[[Obj], None] = _leave
    """Drops what a creator may not set (status) and sets first values, in place."""
    prepare_update: Callable[[Obj, Obj], None] = _leave_update
    """(new, old): carries over what an update may not touch, in place. Status is handled by `has_status`."""
    validate: Callable[[Obj], list[FieldError]] = _accept
    validate_update: Callable[[Obj, Obj], list[FieldError]] = _accept_update
    """(new, old), on top of `validate`: immutable fields and forbidden transitions."""
    validates_long: Callable[[Obj], bool] = _quickly
    """Whether `validate` and `validate_update` would hold up the event loop, so that they belong in a thread."""
    prepare_status: Callable[[Obj, Obj], None] = _leave_update
    """(new, old): the status subresource; everything but status and metadata is already the old one's."""
    validate_status: Callable[[Obj, Obj], list[FieldError]] = _accept_update
    has_status: bool = False
    has_generation: bool = False
    """metadata.generation starts at 1 and rises when anything outside metadata and status changes."""
    columns: tuple[Column, ...] = ()
    """Every column of the server's Table, `Name` first and `Age` where it stands; empty means the server's fallback
    for kinds without a printer: `Name` and `Created At`. `columns.py` has `NAME`, `AGE` and the shared cell pieces."""
    cells: Callable[[Obj, str], Sequence[Any]] | None = None
    """(object, now as RFC 3339) -> one cell per column of `columns`, name and age included."""
    row_conditions: Callable[[Obj], list[Obj]] = _no_conditions
    """What the Table says of a row as a whole (`conditions`), such as that a pod is done; left out when empty."""
    fields: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    """Field selectors beyond metadata.name and metadata.namespace."""
    warnings: Callable[[Obj], list[str]] = _no_warnings
    """Sentences for `Warning:` headers on create and update."""
