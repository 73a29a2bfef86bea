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
from springtide.cli.speaking import note, say, shown
from springtide.messages import Text, text


def delete(cluster: Chosen, *, yes: bool, force: bool) -> None:
    """`yes`: without a question; `force`: also a cluster that runs."""
    # Imported here because `tide delete JOB` does not need it.
    from springtide.local.supervisor import removal  # noqa: PLC0415

    if not removal.is_cluster(cluster.place):
        say(_nothing(cluster))
        return
    running = cluster.is_running() and not cluster.place.is_being_deleted()
    if running and not force:
        why = text(
            "cluster {name!r} is up\nStop it first: {stop}\nOr stop and delete it, killing its pods: {delete}",
            name=cluster.name,
            stop=cluster.command("down"),
            delete=cluster.command("delete --cluster --force"),
        )
        raise click.ClickException(shown(why))
    if not yes:
        _confirm(cluster)
    if running:
        down.stop(cluster, grace=0.0)
    for file in _removed_contexts(cluster):
        say(text("Removed its context from {file}.", file=file))
    left = _removed_files(cluster)
    say(text("Deleted cluster {name!r}.", name=cluster.name))
    if left:
        names = ", ".join(shown(_named(path)) for path in left)
        say(
            text(
                "Left alone in {path}, because the cluster did not make it: {names}",
                path=cluster.place.path,
                names=names,
            )
        )
    if str(cluster.place.kubeconfig) in os.environ.get("KUBECONFIG", "").split(os.pathsep):
        say(text("KUBECONFIG still names its kubeconfig: {command}", command="unset KUBECONFIG"))


def _named(path: Path) -> Text:
    return text("{name} (a symbolic link)" if path.is_symlink() else "{name}", name=path.name)


def _nothing(cluster: Chosen) -> Text:
    if os.path.lexists(cluster.place.path):
        return text("{path} is not the directory of a cluster; nothing was deleted.", path=cluster.place.path)
    return text("Cluster {name!r} {state}; nothing was deleted.", name=cluster.name, state=cluster.state())


def _confirm(cluster: Chosen) -> None:
    if not sys.stdin.isatty():
        why = text(
            "deleting cluster {name!r} needs a confirmation, and there is no terminal to ask on\n"
            "Without being asked: {command}",
            name=cluster.name,
            command=cluster.command("delete --cluster --yes"),
        )
        raise click.ClickException(shown(why))
    what = text(
        "Delete cluster {name!r} with all its objects, logs and volumes in {path}?",
        name=cluster.name,
        path=cluster.place.path,
    )
    if not click.confirm(shown(what)):
        say(text("Nothing was deleted."))
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
            note(
                text(
                    "! Its context is still in {file}, which cannot be changed: {why}\n  Remove it with: {command}",
                    file=file,
                    why=error.strerror,
                    command=f"kubectl config delete-context {choice.context}",
                )
            )
    return found


def _removed_files(cluster: Chosen) -> list[Path]:
    from springtide.local.datadir import InUseError  # noqa: PLC0415
    from springtide.local.supervisor import removal  # noqa: PLC0415

    try:
        return asyncio.run(removal.remove(cluster.place))
    except InUseError:
        why = text(
            "cluster {name!r} was started, or is being deleted, by another tide just now\nSee it with: {command}",
            name=cluster.name,
            command=cluster.command("status"),
        )
        raise click.ClickException(shown(why)) from None
    except OSError as error:
        why = text(
            "cannot remove {path}: {why}\nRemove what is in the way, then delete the rest: {command}",
            path=error.filename or cluster.place.path,
            why=error.strerror,
            command=cluster.command("delete --cluster"),
        )
        raise click.ClickException(shown(why)) from None
