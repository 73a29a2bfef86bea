# SPDX-License-Identifier: Apache-2.0
"""`tide status`: whether the embedded cluster runs, where, and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from springtide.cli.commands import ClusterCommand
from springtide.cli.options import Chosen, which_cluster
from springtide.cli.speaking import note, page, say, shown
from springtide.messages import text

if TYPE_CHECKING:
    from springtide.cli.cluster.probe import Found

STOPPED = 3
"""Exit status for a stopped cluster, as in `systemctl status`."""
_LONG: Final = 60.0
"""Seconds that a request may take once the user knows that the server is slow."""


@click.command(cls=ClusterCommand)
@which_cluster
@click.pass_context
def status(ctx: click.Context, cluster: Chosen) -> None:
    """Show whether the embedded cluster runs, and what is in it.

    Exits with 0 when it runs and answers, with 3 when it is stopped, with 1 when it does not answer.
    """
    place = cluster.place
    if not cluster.is_running():
        say(text("Cluster {name!r} {state}.", name=cluster.name, state=cluster.state()))
        say(text("Start it with: {command}", command=cluster.command("up")))
        ctx.exit(STOPPED)
    last = place.last()
    if last is None:
        raise click.ClickException(shown(text("cluster {name!r} is still starting", name=cluster.name)))
    say(text("Cluster {name!r} is up at {server}", name=cluster.name, server=f"https://127.0.0.1:{last.port}"))
    # Imported here because a stopped cluster does not need it.
    from springtide.cli.cluster import probe  # noqa: PLC0415
    from springtide.cli.cluster.status_lines import lines  # noqa: PLC0415

    try:
        found = _look(place.kubeconfig)
    except probe.SilentError as error:
        why = text("its server does not answer: {why}\nIts log is {log}", why=str(error), log=place.log)
        raise click.ClickException(shown(why)) from None
    for name, line in lines(place, found):
        page(f"  {name:<12} {shown(line)}")


def _look(kubeconfig: Path) -> Found:
    from springtide.cli.cluster import probe  # noqa: PLC0415  # see above

    try:
        return probe.look(kubeconfig)
    except probe.SlowError as error:
        note(text("Its server is slow: {why}; waiting up to {seconds} s", why=str(error), seconds=f"{_LONG:g}"))
        return probe.look(kubeconfig, _LONG)
