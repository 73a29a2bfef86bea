# SPDX-License-Identifier: Apache-2.0
"""Expansion of `$(VAR)` in commands, arguments, variables and subPathExpr, as in Kubernetes.

An unknown reference is kept as it is written, and `$$(VAR)` yields a literal `$(VAR)`. No shell is involved: `$VAR` and
`${VAR}` are not expanded. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

LONGEST: Final = 2**21
"""Characters of a program's arguments, or of its variables: Linux starts no program with more."""

# Only for text that ends with a parenthesis: then every `$(` is closed, so that the search for the end never fails.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class TooLongError(ValueError):
    """The expanded text would be too long for any program; expansion was stopped."""


def expand(text: str, *variables: Mapping[str, str], room: int = LONGEST) -> str:
    """Replace every reference by the value in the first mapping that has it; TooLongError beyond `room`."""
    left = room - len(text)

    def value(match: re.Match[str]) -> str:
        nonlocal left
        name = match[1]
        if name is None:
            return "$"
        found = next((known[name] for known in variables if name in known), match[0])
        left -= len(found) - len(match[0])
        if left < 0:
            raise TooLongError(f"with the values of its variables it has more than {room} characters")
        return found

    closed = text.rfind(")") + 1
    return _REFERENCE.sub(value, text[:closed]) + text[closed:].replace("$$", "$")


def unknown_references(text: str, variables: Mapping[str, str]) -> list[str]:
    """The names that `expand` would keep unexpanded; in paths these are an error."""
    names = (match[1] for match in _REFERENCE.finditer(text[: text.rfind(")") + 1]))
    return [name for name in names if name is not None and name not in variables]


def with_image(
    entrypoint: Sequence[str],
    cmd: Sequence[str],
    command: Sequence[str],
    args: Sequence[str],
    variables: Mapping[str, str],
) -> tuple[str, ...]:
    """A container's command line: `command` replaces entrypoint and cmd of the image, `args` replaces cmd. The image's
    part is not expanded. TooLongError when the container's part is too long."""
    before = () if command else tuple(entrypoint)
    after = () if command or args else tuple(cmd)
    return (*before, *argv(command, args, variables), *after)


def argv(command: Sequence[str], args: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Expand a command and its arguments; TooLongError when they are too long together."""
    parts, room = [], LONGEST
    for part in (*command, *args):
        parts.append(expand(part, variables, room=room))
        room = max(0, room - len(parts[-1]))
    return tuple(parts)
