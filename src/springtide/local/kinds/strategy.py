# SPDX-License-Identifier: Apache-2.0
"""The strategy of a kind: defaults, rules and columns beyond its schema.

A strategy consists of data and functions on decoded objects (dicts), without I/O. Functions that are not needed keep
their no-op defaults, so a ConfigMap's strategy is three lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from springtide.api.field_errors import FieldError

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `priority` 1 is shown only with `-o wide`."""

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
    """Fills in the defaults of Go's defaulting functions, in place, after schema defaults. Must be idempotent."""
    prepare_create: Callable[[Obj], None] = _leave
    """Drops fields that a creator must not set (status) and sets initial values, in place."""
    prepare_update: Callable[[Obj, Obj], None] = _leave_update
    """(new, old): restores fields that an update must not change, in place. Status is handled by `has_status`."""
    validate: Callable[[Obj], list[FieldError]] = _accept
    validate_update: Callable[[Obj, Obj], list[FieldError]] = _accept_update
    """(new, old), on top of `validate`: immutable fields and forbidden transitions."""
    validates_long: Callable[[Obj], bool] = _quickly
    """Whether `validate` and `validate_update` would block the event loop, and so must run on a thread."""
    prepare_status: Callable[[Obj, Obj], None] = _leave_update
    """(new, old): the status subresource; everything but status and metadata has been restored from the old object."""
    validate_status: Callable[[Obj, Obj], list[FieldError]] = _accept_update
    has_status: bool = False
    has_generation: bool = False
    """metadata.generation starts at 1 and increases when anything outside metadata and status changes."""
    columns: tuple[Column, ...] = ()
    """Every column of the server's Table, with `Name` first and `Age` at its position; empty means the server's default
    for kinds without a printer: `Name` and `Created At`. `columns.py` has `NAME`, `AGE` and shared cell functions."""
    cells: Callable[[Obj, str], Sequence[Any]] | None = None
    """(object, now as RFC 3339) -> one cell per column of `columns`, name and age included."""
    row_conditions: Callable[[Obj], list[Obj]] = _no_conditions
    """`conditions` of the table row, such as that a pod is finished; omitted when empty."""
    fields: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    """Field selectors beyond metadata.name and metadata.namespace."""
    warnings: Callable[[Obj], list[str]] = _no_warnings
    """Texts for `Warning:` headers on create and update."""
