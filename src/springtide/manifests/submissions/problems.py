# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a flag: which one, why, and what to write instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from springtide.messages import Language, Text, shown, text

_PREFIX: Final = "failed to validate command args"


class Problem(ValueError):
    """Raised where a flag's text is read, and listed where a whole submission is checked."""

    def __init__(self, flag: str, cause: Text, hint: Text, arena: str = "") -> None:
        """Without a flag it is about the whole command line."""
        self.flag, self.cause, self.hint = flag, cause, hint
        self._arena = arena
        super().__init__(self.arena)

    @property
    def what(self) -> Text:
        return text("{flag} is not valid", flag=self.flag) if self.flag else text("the command line is not valid")

    @property
    def arena(self) -> str:
        """The line of `arena`, in Arena's own words where it checks the same."""
        said = self._arena or f"{self.flag or 'command line'}: {shown(self.cause, Language.ENGLISH)}"
        return f"{_PREFIX}: {said}"


def missing(flag: str, arena: str = "", instead: str = "") -> Problem:
    return Problem(flag, text("it is missing"), text("add {flag}", flag=instead or flag), arena)


def malformed(flag: str, value: str, form: str, example: str, arena: str = "") -> Problem:
    cause = text("{value} does not have the form {form}", value=repr(value), form=form)
    return Problem(flag, cause, text("write it as {example}", example=example), arena)


def unknown(flag: str, value: str, choices: Collection[str], arena: str = "") -> Problem:
    names = ", ".join(choices)
    cause = text("{value} is none of its values", value=repr(value))
    return Problem(flag, cause, text("choose one of: {choices}", choices=names), arena)


def too_small(flag: str, value: int, least: int, arena: str = "") -> Problem:
    cause = text("{value} is less than {limit}", value=value, limit=least)
    return Problem(flag, cause, text("choose at least {limit}", limit=least), arena)


def too_large(flag: str, value: int, most: int, arena: str = "") -> Problem:
    cause = text("{value} is more than {limit}", value=value, limit=most)
    return Problem(flag, cause, text("choose at most {limit}", limit=most), arena)
