# SPDX-License-Identifier: Apache-2.0
"""`tide`, the command line. Command modules are imported when they run, so that `tide version` starts quickly."""

from __future__ import annotations

import importlib
import sys

import click
from click.shell_completion import CompletionItem

import springtide
from springtide.cli import last_resort, standard_streams
from springtide.cli.speaking import LANGUAGE

_COMMANDS = {
    "up": ("springtide.cli.cluster.up", "up", "Start the embedded cluster."),
    "down": ("springtide.cli.cluster.down", "down", "Stop the embedded cluster; its objects are kept."),
    "delete": (
        "springtide.cli.cluster.delete",
        "delete",
        "Delete a cluster: its objects, files and kubeconfig context.",
    ),
    "status": ("springtide.cli.cluster.status", "status", "Show whether the embedded cluster runs, and what is in it."),
    "kubeconfig": (
        "springtide.cli.cluster.kubeconfig",
        "kubeconfig",
        "Print the embedded cluster's kubeconfig, or merge it.",
    ),
    "node": ("springtide.cli.nodes.node", "node", "Show, add, drain, remove and reclaim nodes."),
    "env": ("springtide.cli.environments.env", "env", "Make, list and delete environments: what images stand for."),
    "operator": ("springtide.cli.operator.command", "operator", "Run the operator, which reconciles training jobs."),
    "example": ("springtide.cli.example", "example", "Print the manifest of a job to try out."),
    "logs": ("springtide.cli.tide_jobs.logs", "logs", "Show what the pods of a job print, merged by time."),
    "attach": ("springtide.cli.tide_jobs.attach", "attach", "Run a command in a job's pod, with a terminal."),
    "doctor": (
        "springtide.cli.doctor.command",
        "doctor",
        "Check this machine, with a fix for everything that is missing.",
    ),
    "run": ("springtide.cli.tide_jobs.run", "run", "Run a program of this directory as an elastic job."),
    "submit": ("springtide.cli.tide_jobs.submit", "submit", "Create the jobs of a manifest."),
    "list": ("springtide.cli.tide_jobs.list", "list_", "Show the jobs of a namespace."),
    "get": ("springtide.cli.tide_jobs.get", "get", "Show a job and its instances."),
    "top": ("springtide.cli.tide_jobs.top", "top", "Show what jobs take up, and what nodes have."),
    "wait": ("springtide.cli.tide_jobs.wait", "wait", "Wait until a job has finished."),
    "scale": ("springtide.cli.tide_jobs.scale", "scale", "Give a job another number of workers."),
    "scaleout": ("springtide.cli.tide_jobs.scaling_out", "scaleout", "Add workers to a job."),
    "scalein": ("springtide.cli.tide_jobs.scaling_out", "scalein", "Remove workers from a job."),
    "suspend": ("springtide.cli.tide_jobs.suspend", "suspend", "Stop a job's pods, and keep the job."),
    "resume": ("springtide.cli.tide_jobs.suspend", "resume", "Start a suspended job again."),
    "restart": ("springtide.cli.tide_jobs.restart", "restart", "Start a job again, finished or not."),
    "clone": ("springtide.cli.tide_jobs.clone", "clone", "Create a copy of a job under another name."),
    "diff": ("springtide.cli.tide_jobs.diff", "diff", "Show what a manifest would change."),
    "explain": ("springtide.cli.tide_jobs.explain", "explain", "Explain why a job is in its state."),
    "completion": ("springtide.cli.completion.command", "completion", "Print the script that completes tide by TAB."),
    "version": ("springtide.cli.app", "version", "Print the version, and the Kubernetes version it follows."),
}
_OTHER_WORDS = {
    **{"start": "up", "create": "up", "stop": "down", "remove": "delete", "rm": "delete", "destroy": "delete"},
    **{"apply": "submit", "resize": "scale", "pause": "suspend", "continue": "resume", "copy": "clone"},
    **{"ls": "list", "jobs": "list"},
}
"""Names that other programs use for our commands."""

_INTERRUPTED = 130
_VERSION = f"springtide {springtide.__version__} (follows Kubernetes {springtide.KUBERNETES_VERSION})"


class _Lazy(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would print "Aborted!" and exit with 1, as after a failure
            ctx.exit(_INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests commands for a mistyped name: click compares only with imported commands, and there are none."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            meant = _OTHER_WORDS.get(name)
            message = f"No such command {name!r}. Did you mean {meant!r}?" if meant else None
            raise click.NoSuchCommand(name, message, possibilities=None if meant else _COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes from the table, because click would import every command at every key press."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = [(name, text) for name, (_, _, text) in _COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(name, help=text) for name, text in found]


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Complete commands, options and names by TAB: tide completion --help",
)
@click.option(
    "--lang",
    type=click.Choice(["en", "zh"]),
    help="Language of the messages.  [default: that of the locale]",
)
@click.version_option(message=_VERSION)
@click.pass_context
def tide(ctx: click.Context, lang: str | None) -> None:
    """Springtide: training jobs that grow into idle capacity and give it back."""
    if lang:
        ctx.meta[LANGUAGE] = lang


@click.command()
def version() -> None:
    """Print the version, and the Kubernetes version it follows."""
    click.echo(_VERSION)


def main() -> None:
    sys.excepthook = last_resort.explain
    standard_streams.prepare()
    tide(prog_name="tide")
