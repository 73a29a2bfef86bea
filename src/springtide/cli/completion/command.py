# SPDX-License-Identifier: Apache-2.0
"""`tide completion`: prints the script with which a shell completes `tide`'s commands, options and names by TAB."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from springtide.cli import speaking
from springtide.messages import text

SHELLS = {
    "bash": "echo 'eval \"$(tide completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(tide completion zsh)\"' >> ~/.zshrc",
    "fish": "tide completion fish > ~/.config/fish/completions/tide.fish",
}
"""The commands that install each script permanently."""
_VARIABLE = "_TIDE_COMPLETE"
_HELP = "\b\n" + "\n".join(
    ['For this shell alone: eval "$(tide completion bash)"  (or zsh)', "For good:", *SHELLS.values()]
)


@click.command(epilog=_HELP)
@click.argument(
    "shell", type=click.Choice(list(SHELLS)), required=False, help="Which shell; the one in $SHELL otherwise."
)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> None:
    """Print the script that lets a shell complete tide by TAB.

    Commands, options and the names of clusters, nodes and environments are completed.
    """
    name = shell or Path(os.environ.get("SHELL") or "").name
    found = get_completion_class(name) if name in SHELLS else None
    if found is None:
        said = text("$SHELL does not name a shell that is known\nSay which one: {shells}", shells=", ".join(SHELLS))
        raise click.UsageError(speaking.shown(said), ctx)
    click.echo(found(ctx.find_root().command, {}, "tide", _VARIABLE).source())
