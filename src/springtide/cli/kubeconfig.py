# SPDX-License-Identifier: Apache-2.0
"""`tide kubeconfig`: print the embedded cluster's kubeconfig, or merge it into the user's own."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from springtide.cli.options import must_run, which_cluster
from springtide.cli.places import user_kubeconfig
from springtide.local.access.kubeconfig import merge_into
from springtide.local.cluster import kubeconfig_entry


@click.command()
@which_cluster
@click.option("--merge", is_flag=True, help="Add it to your own kubeconfig and make it current.")
def kubeconfig(name: str, data_dir: Path | None, merge: bool) -> None:
    """Print the embedded cluster's kubeconfig, or merge it."""
    place = must_run(name, data_dir)
    if not merge:
        click.echo(place.kubeconfig.read_text(), nl=False)
        return
    target = user_kubeconfig()
    try:
        merge_into(target, kubeconfig_entry(place, name))
    except (ValueError, yaml.YAMLError) as error:
        raise click.ClickException(f"{target} cannot be read as a kubeconfig: {error}\nNothing was changed.") from None
    click.echo(f"Added cluster, user and context {name!r} to {target}, and made the context current.")
