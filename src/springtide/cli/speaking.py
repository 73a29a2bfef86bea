# SPDX-License-Identifier: Apache-2.0
"""Messages to the user of a terminal, in the language of `--lang` or of the locale."""

from __future__ import annotations

import os
import sys

import click

from springtide import messages
from springtide.messages import Language, Text
from springtide.messages.terminals import harmless

LANGUAGE = "springtide.language"
"""The root context's meta entry for `--lang`. A program that speaks one language only sets it."""


def language() -> Language:
    context = click.get_current_context(silent=True)
    chosen = context.find_root().meta.get(LANGUAGE, "") if context else ""
    return messages.language(os.environ, chosen)


def shown(message: Text) -> str:
    return messages.shown(message, language())


def say(message: Text) -> None:
    """To stdout: what the command was asked for."""
    click.echo(shown(message))


def note(message: Text) -> None:
    """To stderr: progress, notices."""
    click.echo(shown(message), err=True)


def page(shown_text: str) -> None:
    """To stdout: a table or a page for people, with texts of anybody."""
    click.echo(harmless(shown_text))


def document(written: str, *, end: bool = True) -> None:
    """To stdout: what programs read, which get every byte. A terminal does not."""
    click.echo(harmless(written) if sys.stdout.isatty() else written, nl=end, color=True)  # click would strip colours
