# SPDX-License-Identifier: Apache-2.0
"""Where a walk over an object stands, kept as links and written out only when somebody must be told.

Most walks complain about nothing, so a step down costs one small tuple instead of a string.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from springtide.api.field_errors import LONGEST_VALUE, FieldError, cut

Path: TypeAlias = "tuple[Any, str | int] | None"
"""`(parent, key or index)`; None is the object itself."""

ROOT: Final[Path] = None


class Key(str):
    """A map key where the real server writes `data[key]` and not `data.key`."""

    __slots__ = ()


class Problem(NamedTuple):
    """A field error and the position whose schema it broke, which `FieldError.field` does not always tell."""

    path: Path
    error: FieldError


def steps(path: Path) -> list[str | int]:
    """The keys and indexes from the object down to the position."""
    found: list[str | int] = []
    while path is not None:
        path, step = path
        found.append(step)
    return found[::-1]


def written(path: Path) -> str:
    """`spec.containers[0].name`."""
    text = ""
    for step in steps(path):
        if len(text) > LONGEST_VALUE:  # a key may be a megabyte, and everything below it complain
            return cut(text, LONGEST_VALUE)
        if isinstance(step, int | Key):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
