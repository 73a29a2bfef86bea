# SPDX-License-Identifier: Apache-2.0
"""`tide delete --cluster`: removes an embedded cluster permanently, with its context in the user's kubeconfig.

The context is removed first: it is recognized as this cluster's by its certificate authority, which is deleted later.
Any step may be interrupted; the same command completes it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from springtide.cli import places
from springtide.cli.cluster import down
from springtide.cli.options import Chosen


def delete(cluster: Chosen, *, yes: bool, force: bool) -> None:
    """`yes`: without a question; `force`: also a cluster that runs."""
    # Imported here because `tide delete JOB` does not need it.
    from springtide.local.supervisor import removal  # noqa: PLC0415

    if not removal.is_cluster(cluster.place):
        click.echo(_nothing(cluster))
        return
    running = cluster.is_running() and not cluster.place.is_being_deleted()
    if running and not force:
        raise click.ClickException(
            f"cluster {cluster.name!r} is up\nStop it first: {cluster.command('down')}\n"
            f"Or stop and delete it, killing its pods: {cluster.command('delete --cluster --force')}"
        )
    if not yes:
        _confirm(cluster)
    if running:
        down.stop(cluster, grace=0.0)
    for file in _removed_contexts(cluster):
        click.echo(f"Removed its context from {file}.")
    left = _removed_files(cluster)
    click.echo(f"Deleted cluster {cluster.name!r}.")
    if left:
        names = ", ".join(f"{path.name} (a symbolic link)" if path.is_symlink() else path.name for path in left)
        click.echo(f"Left alone in {cluster.place.path}, because the cluster did not make it: {names}")
    if str(cluster.place.kubeconfig) in os.environ.get("KUBECONFIG", "").split(os.pathsep):
        click.echo("KUBECONFIG still names its kubeconfig: unset KUBECONFIG")


def _nothing(cluster: Chosen) -> str:
    if os.path.lexists(cluster.place.path):
        return f"{cluster.place.path} is not the directory of a cluster; nothing was deleted."
    return f"Cluster {cluster.name!r} {cluster.state()}; nothing was deleted."


def _confirm(cluster: Chosen) -> None:
    if not sys.stdin.isatty():
        raise click.ClickException(
            f"deleting cluster {cluster.name!r} needs a confirmation, and there is no terminal to ask on\n"
            f"Without being asked: {cluster.command('delete --cluster --yes')}"
        )
    what = f"Delete cluster {cluster.name!r} with all its objects, logs and volumes in {cluster.place.path}?"
    if not click.confirm(what):
        click.echo("Nothing was deleted.")
        raise click.exceptions.Exit(1)


def _removed_contexts(cluster: Chosen) -> list[Path]:
    """Removes the context from all files in $KUBECONFIG and the default one; returns the changed files."""
    # Imported here because they load the certificate library.
    import yaml  # noqa: PLC0415

    from springtide.kube import kubeconfig as kubeconfigs  # noqa: PLC0415
    from springtide.local.access import kubeconfig  # noqa: PLC0415

    own = cluster.place.kubeconfig
    if not own.is_file():
        return []  # reading a pipe, for example, would block
    try:
        choice = kubeconfigs.read(str(own)).choose()
        authority = kubeconfigs.content(choice.cluster, "certificate-authority")
    except (OSError, ValueError, yaml.YAMLError):
        return []  # the cluster was never up, or this is the second attempt
    found = []
    for file in dict.fromkeys([*places.user_kubeconfigs(), places.default_kubeconfig()]):
        try:
            if file.resolve() != own.resolve() and kubeconfig.remove_from(file, choice.context, authority):
                found.append(file)
        except (ValueError, yaml.YAMLError):
            continue  # not a kubeconfig, so kubectl cannot read it either
        except OSError as error:
            click.echo(f"! Its context is still in {file}, which cannot be changed: {error.strerror}", err=True)
            click.echo(f"  Remove it with: kubectl config delete-context {choice.context}", err=True)
    return found


def _removed_files(cluster: Chosen) -> list[Path]:
    from springtide.local.datadir import InUseError  # noqa: PLC0415
    from springtide.local.supervisor import removal  # noqa: PLC0415

    try:
        return asyncio.run(removal.remove(cluster.place))
    except InUseError:
        raise click.ClickException(
            f"cluster {cluster.name!r} was started, or is being deleted, by another tide just now\n"
            f"See it with: {cluster.command('status')}"
        ) from None
    except OSError as error:
        raise click.ClickException(
            f"cannot remove {error.filename or cluster.place.path}: {error.strerror}\n"
            f"Remove what is in the way, then delete the rest: {cluster.command('delete --cluster')}"
        ) from None
