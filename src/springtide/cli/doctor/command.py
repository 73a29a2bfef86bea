# SPDX-License-Identifier: Apache-2.0
"""`tide doctor`: checks this machine by doing what a cluster does, or a cluster by asking its API server, with one line
for each check and a fix for each failure.
"""

from __future__ import annotations

import click

from springtide.cli import speaking
from springtide.cli.commands import ClusterCommand
from springtide.cli.doctor.checks import CHECKS
from springtide.cli.doctor.errors import Wrong
from springtide.cli.doctor.pod_checks import POD_CHECKS
from springtide.cli.options import Chosen, which_cluster


@click.command(cls=ClusterCommand)
@click.option("--cluster", "of_cluster", is_flag=True, help="Check a cluster: its CRDs, its operator, your rights.")
@click.option("--kubeconfig", default="", metavar="FILE", help="With --cluster: its kubeconfig file.")
@click.option("--context", default="", metavar="NAME", help="With --cluster: its context in the kubeconfig.")
@click.option("-n", "--namespace", default="", metavar="NAME", help="With --cluster: where you have jobs.")
@which_cluster
@click.pass_context
def doctor(
    ctx: click.Context, cluster: Chosen, of_cluster: bool, kubeconfig: str, context: str, namespace: str
) -> None:
    """Check this machine, with a fix for everything that is missing.

    ✓ passed, ! limits what pods can do, ✗ prevents the cluster from working. Exits with 1 if there is a ✗.
    """
    if of_cluster or kubeconfig or context or namespace:
        # Imported here because checks of the machine need no client.
        from springtide.cli.doctor import cluster_report  # noqa: PLC0415

        chosen = str(cluster.place.kubeconfig) if cluster.flags else ""
        ctx.exit(1 if cluster_report.failed(kubeconfig or chosen, context, namespace) else 0)
    failed = False
    for check in (*CHECKS, *POD_CHECKS):
        try:
            click.echo(f"✓ {speaking.shown(check(cluster.place))}")
        except Wrong as wrong:
            failed = failed or wrong.needed
            click.echo(f"{'✗' if wrong.needed else '!'} {speaking.shown(wrong.what)}\n    {speaking.shown(wrong.fix)}")
    ctx.exit(1 if failed else 0)
