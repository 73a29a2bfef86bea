# SPDX-License-Identifier: Apache-2.0
"""`tide doctor`: checks this machine by doing what a cluster does, with one line each and a fix for each failure."""

from __future__ import annotations

import click

from springtide.cli.commands import ClusterCommand
from springtide.cli.doctor.checks import CHECKS
from springtide.cli.doctor.errors import Wrong
from springtide.cli.doctor.pod_checks import POD_CHECKS
from springtide.cli.options import Chosen, which_cluster


@click.command(cls=ClusterCommand)
@which_cluster
@click.pass_context
def doctor(ctx: click.Context, cluster: Chosen) -> None:
    """Check this machine, with a fix for everything that is missing.

    ✓ passed, ! limits what pods can do, ✗ prevents the cluster from working. Exits with 1 if there is a ✗.
    """
    failed = False
    for check in (*CHECKS, *POD_CHECKS):
        try:
            click.echo(f"✓ {check(cluster.place)}")
        except Wrong as wrong:
            failed = failed or wrong.needed
            click.echo(f"{'✗' if wrong.needed else '!'} {wrong}\n    {wrong.fix}")
    ctx.exit(1 if failed else 0)
