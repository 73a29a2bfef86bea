# SPDX-License-Identifier: Apache-2.0
"""`tide`, the command line. Command modules are imported when they run, so that `tide version` starts quickly."""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from typing import Final

import click
from click.shell_completion import CompletionItem

import springtide
from springtide import messages
from springtide.cli import help_pages, last_resort, standard_streams, usage_errors
from springtide.cli.command_table import ALIASES, COMMANDS, FIRST_STEPS, HEADINGS, OTHER_WORDS
from springtide.cli.speaking import LANGUAGE
from springtide.messages import Language, Text, text

_INTERRUPTED = 130
_VERSION = f"springtide {springtide.__version__} (follows Kubernetes {springtide.KUBERNETES_VERSION})"
_ABOUT: Final = text("Springtide: training jobs that grow into idle capacity and give it back.")
_MORE: Final = (
    text("More about a command: {command}", command="tide COMMAND --help"),
    text("Complete commands, options and names by TAB: {command}", command="tide completion --help"),
)


class _Lazy(click.Group):
    context_class = help_pages.Context

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[LANGUAGE] = usage_errors.chosen_language(args)
        with usage_errors.shown_in_the_language_of(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with usage_errors.shown_in_the_language_of(ctx):
                return super().invoke(ctx)
        except KeyboardInterrupt:  # click would print "Aborted!" and exit with 1, as after a failure
            ctx.exit(_INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(ALIASES.get(cmd_name, cmd_name))
        if entry is None:
            return None
        module, _, name = entry.place.partition(":")
        command = getattr(importlib.import_module(f"springtide.cli.{module}"), name)
        if not isinstance(command, click.Command):
            return None
        return command if help_pages.language(ctx) is Language.ENGLISH else help_pages.in_chinese(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests commands for a mistyped name: click compares only with imported commands, and there are none."""
        name = args[0]
        if name not in COMMANDS and name not in ALIASES and not name.startswith("-") and not ctx.resilient_parsing:
            meant = OTHER_WORDS.get(name, ())
            message = _shown(ctx, _no_command(name, meant)) if meant else None
            raise click.NoSuchCommand(name, message, possibilities=None if meant else COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_shown(ctx, _ABOUT))
        with formatter.section(_shown(ctx, text("First steps"))):
            formatter.write_dl([(command, _shown(ctx, what)) for command, what in FIRST_STEPS])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """After the commands, which is what people look for."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, entries in HEADINGS:
            with formatter.section(_shown(ctx, heading)):
                formatter.write_dl([(name.ljust(_NAMES), _shown(ctx, each.help)) for name, each in entries.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for line in _MORE:
            formatter.write_text(_shown(ctx, line))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes from the table, because click would import every command at every key press."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = [(name, each.help) for name, each in COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(name, help=_shown(ctx, help_)) for name, help_ in found]


_NAMES: Final = max(map(len, COMMANDS))
"""The width of the names, so that the lines of all headings are aligned."""


def _shown(ctx: click.Context, message: Text) -> str:
    return messages.shown(message, help_pages.language(ctx))


def _no_command(name: str, meant: tuple[str, ...]) -> Text:
    *others, last = map(repr, meant)
    either = text("{one} or {other}", one=others[0], other=last) if others else text("{name}", name=last)
    return text("No such command {name!r}. Did you mean {meant}?", name=name, meant=either)


def _speak(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value:
        ctx.meta[LANGUAGE] = value


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--lang",
    type=click.Choice(["en", "zh"]),
    is_eager=True,
    expose_value=False,
    callback=_speak,
    help="Language of the messages.  [default: that of the locale]",
)
@click.version_option(message=_VERSION)
@click.pass_context
def tide(ctx: click.Context) -> None:
    """Springtide: training jobs that grow into idle capacity and give it back."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.command()
def version() -> None:
    """Print the version, and the Kubernetes version it follows."""
    click.echo(_VERSION)


def main() -> None:
    sys.excepthook = partial(last_resort.explain, lang=usage_errors.chosen_language(sys.argv[1:]))
    standard_streams.prepare()
    plugin = os.path.basename(sys.argv[0]) == "kubectl-tide"
    tide(prog_name="kubectl tide" if plugin else "tide", complete_var="_TIDE_COMPLETE")
