# SPDX-License-Identifier: Apache-2.0
"""`tide doctor --cluster`: prints what the checks of a cluster find."""

from __future__ import annotations

import click

from springtide.cli import connecting, speaking
from springtide.cli.doctor.cluster_checks import CHECKS, Cluster
from springtide.kube.client import Client


def failed(kubeconfig: str, context: str, namespace: str) -> bool:
    """Whether something is missing that jobs need."""
    target = connecting.found(kubeconfig, context, namespace)

    async def examined(client: Client) -> bool:
        cluster, found = Cluster(client, target.namespace, target.connection.server), False
        for check in CHECKS:
            finding = await check(cluster)
            found = found or (finding.needed and finding.fix is not None)
            click.echo(f"{finding.mark} {speaking.shown(finding.said)}")
            if finding.fix is not None:
                click.echo(f"    {speaking.shown(finding.fix)}")
        return found

    return target.talk(examined)
