# SPDX-License-Identifier: Apache-2.0
"""`tide kubeconfig`: prints the embedded cluster's kubeconfig, or merges it into the user's own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
import yaml

from springtide.cli import places
from springtide.cli.cluster.merging import foreign_server
from springtide.cli.commands import ClusterCommand
from springtide.cli.options import Chosen, which_cluster
from springtide.cli.speaking import say, shown
from springtide.kube import kubeconfig as kubeconfigs
from springtide.messages import text


@click.command(cls=ClusterCommand)
@which_cluster
@click.option(
    "--merge", is_flag=True, help="Add it to your own kubeconfig ($KUBECONFIG or ~/.kube/config), as current."
)
def kubeconfig(cluster: Chosen, merge: bool) -> None:
    """Print the embedded cluster's kubeconfig, or merge it into your own.

    It holds a key with all rights in the cluster: keep it to yourself.
    """
    cluster.must_run()
    if not merge:
        click.echo(_own(cluster).read_text(), nl=False)
        return
    target = places.user_kubeconfig()
    try:
        known = cluster.name in (kubeconfigs.read(str(target)).contexts if target.exists() else {})
        before = _merged(cluster, target)
    except (ValueError, yaml.YAMLError) as error:
        why = text("{file} cannot be read as a kubeconfig: {why}\nNothing was changed.", file=target, why=str(error))
        raise click.ClickException(shown(why)) from None
    except OSError as error:
        raise click.ClickException(shown(text("cannot write {file}: {why}", file=target, why=error.strerror))) from None
    say(
        text(
            "Replaced {name!r} in {file} and made it the current context."
            if known
            else "Added {name!r} to {file} and made it the current context.",
            name=cluster.name,
            file=target,
        )
    )
    if before and before != cluster.name:
        say(text("Go back with: {command}", command=f"kubectl config use-context {before}"))
    if target not in places.user_kubeconfigs():
        say(
            text(
                "This shell does not use it, because KUBECONFIG names another file: {command}",
                command="unset KUBECONFIG",
            )
        )


def _own(cluster: Chosen) -> Path:
    path = cluster.place.kubeconfig
    if not path.exists():
        why = text("cluster {name!r} is still starting\nTry again in a moment.", name=cluster.name)
        raise click.ClickException(shown(why))
    return path


def _merged(cluster: Chosen, target: Path) -> str:
    """Merges, and returns the previous current context."""
    # Imported here because it loads the certificate library, which printing does not need.
    from springtide.local.access import kubeconfig, pki  # noqa: PLC0415

    own = _own(cluster)
    choice = kubeconfigs.read(str(own)).choose()
    theirs = kubeconfigs.read(str(target)) if target.exists() else kubeconfigs.Config("", {}, {}, {})
    if other := foreign_server(theirs, choice.context):
        why = text(
            "{file} has an entry {name!r} for {server}\nNothing was changed; rename that entry first, "
            "or start the cluster under another --name.",
            file=target,
            name=choice.context,
            server=other,
        )
        raise click.ClickException(shown(why))
    authority = pki.Authority(cluster.place.pki, datetime.now(UTC))
    server, pair = choice.cluster["server"], pki.admin_pair(authority)
    kubeconfig.merge_into(target, kubeconfig.Entry(choice.context, server, authority.certificate, pair))
    return theirs.current
