# SPDX-License-Identifier: Apache-2.0
"""The command of a job, which documents spread over several lines.

    horovodrun
        -np 2
        python train.py

A shell would run `horovodrun` alone. A line that begins with `-` is no command: it continues the line before it, and so
do the lines after it that are indented deeper than that command. Everything else is left byte for byte: quoted text,
here-documents, comments, and newlines after a backslash.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
      \\.                                      # an escaped character, also a newline
    | '[^']*' | "(?:\\.|[^"\\])*"              # quoted text
    | <<<                                      # a here-string
    | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | (?P<rest>['"]|<<-?[ \t]*['"\\]?[A-Za-z_])  # a quote without an end, a here-document: all that follows is text
    | (?P<break>\r?\n)
    """,
    re.DOTALL | re.VERBOSE,
)
_BLANKS: Final = " \t"


class Joined(NamedTuple):
    command: str
    lines_joined: bool


class _Line(NamedTuple):
    """A line as a shell reads it, and the line break after it, which is empty after the last line."""

    text: str
    line_break: str
    has_comment: bool

    @property
    def indentation(self) -> int:
        return len(self.text) - len(self.text.lstrip(_BLANKS))

    @property
    def is_empty(self) -> bool:
        return not self.text.strip(_BLANKS)

    @property
    def is_option(self) -> bool:
        return self.text.lstrip(_BLANKS).startswith("-")

    @property
    def is_comment(self) -> bool:
        return self.text.lstrip(_BLANKS).startswith("#")


def joined(command: str) -> Joined:
    """The command with its options on its line. Nothing is joined to a comment, which would swallow it."""
    lines = _lines(command)
    text, depth, in_options = lines[0].text, lines[0].indentation, False
    for before, line in pairwise(lines):
        continues = line.is_option or (in_options and line.indentation > depth)
        joins = continues and not (before.is_empty or before.has_comment or line.is_comment)
        text += (" " if joins else before.line_break) + line.text
        in_options = joins
        if not joins:
            depth = line.indentation
    return Joined(text, text != command)


def _lines(command: str) -> list[_Line]:
    lines, start, has_comment = [], 0, False
    for token in _TOKEN.finditer(command):
        if token["rest"]:
            break
        if token["comment"]:
            has_comment = True
        if token["break"]:
            lines.append(_Line(command[start : token.start()], token["break"], has_comment))
            start, has_comment = token.end(), False
    return [*lines, _Line(command[start:], "", has_comment)]
