# SPDX-License-Identifier: Apache-2.0
"""How `tide env create` reads its options."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from springtide.cli import speaking
from springtide.local.environments.environment import Files
from springtide.messages import Text, text


class ManyPackages(click.Command):
    """Parses `--pip torch numpy` as `--pip torch --pip numpy`: click gives an option one word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        packages = False
        for word in args:
            if packages and not word.startswith("-"):
                spread += [word] if spread[-1] == "--pip" else ["--pip", word]
            else:
                packages = word.partition("=")[0] == "--pip"
                spread.append(word)
        return super().parse_args(ctx, spread)


def patterns(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    if not all(values):
        raise _bad(text("it is empty, perhaps because of a variable that is not set"))
    return values


def files(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Files, ...]:
    found = []
    for value in values:
        source, colon, target = value.rpartition(":")
        if not colon or not source or not target.startswith("/"):
            raise _bad(text("{value!r}: write DIR:/absolute/path", value=value))
        found.append(Files(str(Path(source).absolute()), target))
    return tuple(found)


def words_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Parses a command in shell syntax, or as a JSON list, as in image descriptions."""
    if value is None:
        return None
    try:
        words = json.loads(value) if value.lstrip().startswith("[") else shlex.split(value)
    except ValueError as error:
        raise _bad(text("{value!r}: {why}", value=value, why=str(error))) from None
    if not all(isinstance(word, str) for word in words):
        raise _bad(text("{value!r}: a list holds strings alone", value=value))
    return tuple(words)


def variables(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [value for value, (name, sign, _) in zip(values, pairs, strict=True) if not (name and sign)]:
        raise _bad(text("{value!r}: write NAME=VALUE", value=wrong[0]))
    return {name: value for name, _, value in pairs}


def _bad(why: Text) -> click.BadParameter:
    return click.BadParameter(speaking.shown(why))
