# SPDX-License-Identifier: Apache-2.0
"""Position of a walk in an object, stored as links and formatted only for an error.

Most walks find no error, so a step down costs one small tuple instead of a string.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from springtide.api.field_errors import LONGEST_VALUE, FieldError, cut

Path: TypeAlias = "tuple[Any, str | int] | None"
"""`(parent, key or index)`; None is the object itself."""

ROOT: Final[Path] = None


class Key(str):
    """A map key for which kube-apiserver writes `data[key]` and not `data.key`."""

    __slots__ = ()


class Problem(NamedTuple):
    """A field error and the position whose schema it violates, which can differ from `FieldError.field`."""

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
    """The path as text: `spec.containers[0].name`."""
    text = ""
    for step in steps(path):
        if len(text) > LONGEST_VALUE:  # a key may have a megabyte, and everything below it can have errors
            return cut(text, LONGEST_VALUE)
        if isinstance(step, int | Key):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
