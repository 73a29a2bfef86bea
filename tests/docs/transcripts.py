# SPDX-License-Identifier: Apache-2.0
"""What pages show of outputs, in blocks fenced as `text`: compared with what was printed, and across languages."""

from __future__ import annotations

import re
import string
from functools import cache
from pathlib import Path
from typing import Final

from springtide.messages import Language, recorded_text
from springtide.messages.zh import TRANSLATIONS
from springtide.views.states import STATES

_BLOCK: Final = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MASKS: Final = (
    (re.compile(r"/\S+/digits\b"), "/DIRECTORY"),
    (re.compile(r"(?<![\w-])(?:\d+[smhdy])+\b"), "AGE"),
    (re.compile(r"\d+(?:\.\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)
"""What differs from run to run: places, ages, numbers, widths of columns."""
_STATE: Final = re.compile(rf"(\S+): ({'|'.join(STATES)})\. (.+)")
_STEP: Final = re.compile(r"(  ✓ )(.+)(  \d+\.\d s)")
_LEAST: Final = 4
"""Characters of a template beside its parameters: fewer fit what is no message."""


def blocks(page: Path) -> list[list[str]]:
    """The lines of each block, without empty ones."""
    return [[line for line in body.splitlines() if line.strip()] for body in _BLOCK.findall(page.read_text())]


def lines(page: Path) -> list[str]:
    return [line for block in blocks(page) for line in block]


def masked(line: str) -> str:
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line.strip()


def not_printed(page: Path, output: str) -> list[str]:
    """The lines of the page that were not printed."""
    printed = {masked(line) for line in output.splitlines()}
    return [line for line in lines(page) if masked(line) not in printed]


def in_chinese(line: str) -> str:
    """A line of `tide`'s as it is printed for Chinese readers."""
    if found := _STATE.fullmatch(line):
        return f"{found[1]}：{found[2]}。{recorded_text(found[3], Language.CHINESE)}"
    if found := _STEP.fullmatch(line):
        return f"{found[1]}{in_chinese(found[2])}{found[3]}"
    for pattern, template in _templates():
        if found := pattern.fullmatch(line):
            values = {name: in_chinese(value) for name, value in found.groupdict().items()}
            return template.format(**values)
    indent = line[: len(line) - len(line.lstrip())]
    return indent + recorded_text(line.lstrip(), Language.CHINESE)


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    """Those with most text of their own come first."""
    found = []
    for english, chinese in TRANSLATIONS.items():
        parts = list(string.Formatter().parse(english))
        own = sum(len(literal) for literal, *_ in parts)
        names = [name for _, name, *_ in parts if name]
        if own >= _LEAST and len(names) == len(set(names)):
            pattern = "".join(re.escape(literal) + (f"(?P<{name}>.+)" if name else "") for literal, name, *_ in parts)
            found.append((own, re.compile(pattern), chinese))
    return [(pattern, chinese) for _, pattern, chinese in sorted(found, key=lambda each: -each[0])]
