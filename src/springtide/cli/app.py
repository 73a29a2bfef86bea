# SPDX-License-Identifier: Apache-2.0
"""`tide`: the command line. Commands are imported when they run, so that `tide version` starts in no time."""

from __future__ import annotations

import importlib

import click

import springtide

_COMMANDS = {
    "up": ("springtide.cli.up", "up", "Start the embedded cluster."),
    "down": ("springtide.cli.down", "down", "Stop the embedded cluster; its objects are kept."),
    "status": ("springtide.cli.status", "status", "Say whether the embedded cluster runs, and how to reach it."),
    "kubeconfig": ("springtide.cli.kubeconfig", "kubeconfig", "Print the embedded cluster's kubeconfig, or merge it."),
    "doctor": ("springtide.cli.doctor", "doctor", "Check this machine, with a fix for everything that is missing."),
    "version": ("springtide.cli.app", "version", "Print the version."),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Springtide: training jobs that grow into idle capacity and give it back."""


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"springtide {springtide.__version__}")
