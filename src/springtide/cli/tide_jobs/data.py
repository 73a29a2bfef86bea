# SPDX-License-Identifier: Apache-2.0
"""`tide data`: the claims of volumes that jobs can mount with `--data`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.tide_jobs.output import outputs
from springtide.cli.tide_jobs.output.outputs import Form, Output
from springtide.kube.request import Scope
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS
from springtide.messages import text
from springtide.views import claims


@click.command(
    epilog="""\b
Examples:
  tide data -A
  tide submit etjob --name bert --data CLAIM:/data "python train.py" """
)
@on_cluster(all_namespaces=True)
@click.argument("action", required=False, type=click.Choice(["list"]), metavar="[list]", help="May be left out.")
@outputs.output_option
def data(target: Target, action: str | None, output: Output) -> None:
    """Show the data volumes of a namespace: claims that jobs can mount."""
    found = target.talk(lambda client: client.list(PERSISTENTVOLUMECLAIMS, Scope(target.namespace))).items
    if output.form is Form.NAME:
        for claim in found:
            click.echo(f"persistentvolumeclaim/{claim['metadata']['name']}")
    elif output.needs_documents:
        click.echo(outputs.written(output, [claims.document(claim) for claim in found], listed=True))
    elif found:
        width = outputs.terminal_width()
        click.echo(claims.claim_table(found, datetime.now(UTC), width, all_namespaces=not target.namespace))
    else:
        speaking.note(text("There are no data volumes."))
