# SPDX-License-Identifier: Apache-2.0
"""`tide up`: runs the embedded cluster in the foreground, or with `-d` in the background.

In the background the same command runs again as a separate process; this one waits until the cluster is up and prints
the error message if it fails.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from springtide.cli.cluster import background, data_directories, messages
from springtide.cli.commands import ClusterCommand
from springtide.cli.completion import choices
from springtide.cli.nodes.node_options import Asked, which_nodes
from springtide.cli.options import Chosen, which_cluster
from springtide.cli.speaking import LANGUAGE, say, shown


@click.command(cls=ClusterCommand)
@which_cluster
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Port on 127.0.0.1; 0 takes any free one.  [default: the last one, or 6443]",
)
@click.option("-d", "--detach", is_flag=True, help="Run in the background.")
@click.option("--audit", is_flag=True, help="Write a line per change to audit.log in the data directory.")
@click.option("--no-operator", is_flag=True, help="Run no operator: training jobs wait for a `tide operator` of yours.")
@click.option("--accept-data-loss", is_flag=True, help="Start although objects are lost or damaged on disk.")
@click.option(
    "--preset",
    "presets",
    metavar="NAME[,NAME]",
    default="",
    shell_complete=choices.presets,
    help="First make the environments of these presets, where they are missing; see `tide env presets`.",
)
@which_nodes
def up(cluster: Chosen, port: int | None, detach: bool, presets: str, asked: Asked, **flags: bool) -> None:
    """Start the embedded cluster and say how to reach it.

    Without -d it runs until Ctrl-C. Its objects are kept in the data directory and come back with the next start, on
    the same port. Pods run as processes of this machine, on nodes that share its resources. Several clusters run side
    by side under different names.
    """
    if why := data_directories.problem(cluster.place.path):
        raise click.ClickException(shown(messages.unusable_directory(why)))
    if cluster.place.is_being_deleted():
        raise click.ClickException(shown(messages.partly_deleted(cluster)))
    if cluster.is_running():
        raise click.ClickException(shown(messages.already_up(cluster)))
    if presets:
        from springtide.cli.environments import presets as own_presets  # noqa: PLC0415 - seldom needed

        own_presets.prepare(filter(None, presets.split(",")))
    if detach:
        more = [f"--{name.replace('_', '-')}" for name, given in flags.items() if given]
        _in_background(cluster, port, more, asked)
        return
    # Imported here because neither --help nor -d needs it.
    from springtide.cli.cluster.foreground import run  # noqa: PLC0415

    operator, accept_loss = not flags["no_operator"], flags["accept_data_loss"]
    run(cluster, port, asked.nodes, audit=flags["audit"], operator=operator, accept_loss=accept_loss)


def _in_background(cluster: Chosen, port: int | None, more: Sequence[str], asked: Asked) -> None:
    language = click.get_current_context().find_root().meta.get(LANGUAGE)
    spoken = [f"--lang={language}"] if language else []
    arguments = [*spoken, "up", *shlex.split(cluster.flags), *asked.arguments, *more]
    arguments += [f"--port={port}"] if port is not None else []
    try:
        port, notes = background.start(arguments, cluster.place.log)
    except background.FailedError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(shown(messages.explained(error, cluster, port))) from None
    has_operator = "--no-operator" not in more
    say(messages.next_steps(cluster, port, has_nodes=asked.nodes is not None, has_operator=has_operator))
    for note in notes:
        click.echo(f"\n! {note}")
    click.echo(f"\n{shown(messages.how_to_stop(cluster))}")
