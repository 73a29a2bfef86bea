# SPDX-License-Identifier: Apache-2.0
"""Pages of help and lines of usage in Chinese: what click and the commands say in English is translated as it is shown.

The translations stand in `springtide.messages.zh.help`, by paragraph. What has none is shown in English.
"""

from __future__ import annotations

import copy
import inspect
import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

import click

from springtide import messages
from springtide.cli.speaking import LANGUAGE
from springtide.messages import Language

_AS_WRITTEN: Final = "\b"
"""How click marks a paragraph whose lines are kept."""
_EXAMPLE: Final = "Example: "
_REMARK: Final = re.compile(r"(.*\S {2,})(\S.*)")
_EXTRAS: Final = re.compile(r"(.*?)  \[([^\[\]]*)\]", re.DOTALL)
_LEAST_WIDTH: Final = 10


def language(context: click.Context) -> Language:
    return messages.language(os.environ, context.find_root().meta.get(LANGUAGE, ""))


class Context(click.Context):
    """Makes pages in the language of `--lang` or of the locale."""

    def make_formatter(self) -> click.HelpFormatter:
        if language(self) is Language.ENGLISH:
            return super().make_formatter()
        return _ChinesePage(width=self.terminal_width, max_width=self.max_content_width)


def in_chinese(command: click.Command) -> click.Command:
    """A copy whose pages, and those of its commands, are Chinese."""
    found = copy.copy(command)
    found.context_class = Context
    if command.help:
        found.short_help = translated(paragraphs(inspect.cleandoc(command.help))[0])
    if isinstance(found, click.Group):
        found.commands = {name: in_chinese(each) for name, each in found.commands.items()}
    return found


def paragraphs(given: str) -> list[str]:
    """As they are translated: in one line, unless their lines are kept."""
    found = re.split(r"\n{2,}", given.strip(" \n"))
    return [each if each.startswith(_AS_WRITTEN) else " ".join(each.split()) for each in found]


def translated(paragraph: str) -> str:
    # Imported here because most runs show English.
    from springtide.messages.zh.help import HELP  # noqa: PLC0415

    if paragraph in HELP:
        return HELP[paragraph]
    if paragraph.startswith(_AS_WRITTEN):
        return "\n".join(_line(each) for each in paragraph.splitlines())
    if paragraph.startswith(_EXAMPLE):
        return f"{HELP[_EXAMPLE]}{paragraph.removeprefix(_EXAMPLE)}"
    if (found := _EXTRAS.fullmatch(paragraph)) is not None:
        return f"{translated(found[1])}  [{'；'.join(_extra(each) for each in found[2].split('; '))}]"
    return paragraph


def _line(line: str) -> str:
    from springtide.messages.zh.help import HELP  # noqa: PLC0415  # as above

    if line in HELP:
        return HELP[line]
    found = _REMARK.fullmatch(line)
    return f"{found[1]}{HELP.get(found[2], found[2])}" if found else line


def _extra(said: str) -> str:
    """What click adds to the help of an option: `default: 30s`, `required`."""
    from springtide.messages.zh.help import HELP  # noqa: PLC0415  # as above

    name, colon, value = said.partition(": ")
    return f"{HELP.get(name + colon, name + colon)}{value}"


class _ChinesePage(click.HelpFormatter):
    """Lines are as wide as they are shown: Chinese characters take two columns."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, translated("Usage:") if prefix is None else prefix)

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{translated(heading)}：\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        blocks = [
            "\n".join(f"{indent}{line}" for line in _lines(each, self.width - self.current_indent))
            for each in paragraphs(text)
        ]
        self.write("\n\n".join(blocks) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        found = list(rows)
        column = min(max((len(first) for first, _ in found), default=0), col_max) + col_spacing
        indent = " " * self.current_indent
        width = max(self.width - column - col_spacing, _LEAST_WIDTH)
        for first, second in found:
            lines = list(_lines(second, width)) if second else []
            beside = lines and len(first) <= column - col_spacing
            self.write(f"{indent}{first.ljust(column)}{lines.pop(0)}\n" if beside else f"{indent}{first}\n")
            for line in lines:
                self.write(f"{indent}{'':<{column}}{line}\n")


def _lines(paragraph: str, width: int) -> Iterator[str]:
    # Imported here because most runs show English.
    from springtide.views.pages.tables import wrapped  # noqa: PLC0415

    found = translated(paragraph)
    if found.startswith(_AS_WRITTEN):
        yield from found.splitlines()[1:]
    else:
        for line in found.splitlines():
            yield from wrapped(line, width)
