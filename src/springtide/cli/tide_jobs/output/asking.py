# SPDX-License-Identifier: Apache-2.0
"""Questions before something is lost. Without a terminal there is nobody to ask: `--yes` is needed."""

from __future__ import annotations

import sys

import click

from springtide.cli import speaking
from springtide.cli.errors import ExitCode, Failure
from springtide.messages import Text, text


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(what: Text, *, yes: bool) -> None:
    """Failure unless the user agrees."""
    if yes:
        return
    if not can_ask():
        raise Failure(
            text("This needs your agreement, and there is no terminal to ask at."),
            what,
            text("agree with {option}", option="--yes"),
            ExitCode.USAGE,
        )
    click.echo(f"{speaking.shown(what)} [y/N] ", nl=False, err=True)
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        click.echo(err=True)
        raise
    if answer.strip().lower() not in ("y", "yes", "是"):
        raise Failure(text("Nothing was changed."), code=ExitCode.CANCELLED)
