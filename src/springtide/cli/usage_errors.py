# SPDX-License-Identifier: Apache-2.0
"""What click says of wrong command lines, in Chinese.

Errors are told by their types and fields. What has no fields, such as that a value is none of the choices, is
recognised by click's templates; anything else was written by a command, in the language that is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click
from click.exceptions import NoArgsIsHelpError

from springtide import messages
from springtide.cli import help_pages
from springtide.cli.errors import Failure
from springtide.messages import Language, Text, text
from springtide.messages.recorded import translated

_LANGUAGE = "--lang"


def chosen_language(words: Sequence[str]) -> str:
    """By the options before the command, also if others of them are wrong. Empty if none says so."""
    chosen, left = "", iter(words)
    for word in left:
        name, sign, value = word.partition("=")
        if name == _LANGUAGE:
            chosen = value if sign else next(left, "")
        elif not word.startswith("-"):
            break
    return chosen


@contextmanager
def shown_in_the_language_of(context: click.Context) -> Iterator[None]:
    try:
        yield
    except (Failure, NoArgsIsHelpError, _Chinese):
        raise
    except click.ClickException as error:
        if help_pages.language(context) is Language.ENGLISH:
            raise
        raise _Chinese(error) from error
    except click.Abort:
        if help_pages.language(context) is Language.ENGLISH:
            raise
        click.echo(_shown(text("Aborted!")), err=True)
        context.exit(1)


class _Chinese(click.ClickException):
    def __init__(self, error: click.ClickException) -> None:
        super().__init__(_said(error))
        self.exit_code = error.exit_code  # type: ignore[misc]  # click reads it from the instance
        self._context = error.ctx if isinstance(error, click.UsageError) else None

    def show(self, file: IO[Any] | None = None) -> None:
        if (context := self._context) is not None:
            click.echo(context.get_usage(), file=file, err=file is None)
            if context.command.get_help_option(context) is not None:
                option = max(context.command.get_help_option_names(context), key=len)
                hint = text("Try '{command} {option}' for help.", command=context.command_path, option=option)
                click.echo(_shown(hint), file=file, err=file is None)
            click.echo("", file=file, err=file is None)
        click.echo(_shown(text("Error: {message}", message=self.message)), file=file, err=file is None)


def _shown(message: Text) -> str:
    return messages.shown(message, Language.CHINESE)


def _said(error: click.ClickException) -> str:
    if isinstance(error, click.FileError):
        message = text("Could not open file {file!r}: {message}", file=error.ui_filename, message=error.message)
        return _shown(message)
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    if isinstance(error, click.BadParameter):
        return _bad(error)
    if isinstance(error, click.NoSuchOption):
        said = text("No such option {name!r}.", name=error.option_name)
        return _shown(said) + _possibilities(error.possibilities)
    if isinstance(error, click.NoSuchCommand):
        said = text("No such command {name!r}.", name=error.command_name)
        usual = error.message == messages.shown(said, Language.ENGLISH)
        return (_shown(said) if usual else error.message) + _possibilities(error.possibilities)
    return _recognised(error.message)


def _possibilities(names: Sequence[str] | None) -> str:
    if not names:
        return ""
    return _shown(text("Did you mean {names}?", names=" / ".join(map(repr, sorted(names)))))


def _hint(error: click.BadParameter) -> str:
    hint = error.param_hint
    if hint is None and error.param is not None:
        hint = error.param.get_error_hint(error.ctx)
    return hint if isinstance(hint, str) else " / ".join(map(repr, hint or ()))


def _missing(error: click.MissingParameter) -> str:
    kind = error.param_type or (error.param.param_type_name if error.param is not None else "")
    if kind == "argument":
        said = text("Missing argument {name}.", name=_hint(error))
    elif kind == "option":
        said = text("Missing option {name}.", name=_hint(error))
    else:
        said = text("Missing parameter {name}.", name=_hint(error))
    more = _recognised(error.message)
    if error.param is not None and isinstance(error.param.type, click.Choice):
        more += _shown(text("Choose from: {choices}", choices=", ".join(map(str, error.param.type.choices))))
    return _shown(said) + more


def _bad(error: click.BadParameter) -> str:
    why = _recognised(error.message)
    if hint := _hint(error):
        return _shown(text("Invalid value for {name}: {why}", name=hint, why=why))
    return _shown(text("Invalid value: {why}", why=why))


def _recognised(said: str) -> str:
    # Imported here because most runs show English.
    from springtide.messages.zh.usage import TEMPLATES  # noqa: PLC0415

    return translated(said, TEMPLATES)
