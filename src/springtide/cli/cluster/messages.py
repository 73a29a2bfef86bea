# SPDX-License-Identifier: Apache-2.0
"""The messages of `tide up` on success and failure, shared by the foreground and the background."""

from __future__ import annotations

import errno
import shlex
import shutil

from springtide.cli.cluster.data_directories import ADVICE
from springtide.cli.cluster.merging import outdated
from springtide.cli.options import Chosen
from springtide.cli.places import cluster_names, clusters, program, user_kubeconfig
from springtide.local.datadir import DataDir

KUBECTL = "https://kubernetes.io/docs/tasks/tools/"


def next_steps(cluster: Chosen, port: int, *, has_nodes: bool, has_operator: bool) -> str:
    """Commands that work unchanged, in this order, in the shell that ran `tide up`."""
    own, theirs = cluster.place.kubeconfig, user_kubeconfig()
    commands = [f"export KUBECONFIG={shlex.quote(str(own))}", f"kubectl get {'nodes' if has_nodes else 'namespaces'}"]
    what = f"Renew its entry in {theirs}" if outdated(theirs, own) else "Or add it to your own kubeconfig"
    return (
        f"Cluster {cluster.name!r} is up at https://127.0.0.1:{port}\n\n"
        + _lines(commands)
        + (_first_work(program(), has_operator) if has_nodes else "")
        + f"\n{what}: {cluster.command('kubeconfig --merge')}"
        + ("" if shutil.which("kubectl") else f"\n\n! kubectl is not on the PATH. Install it: {KUBECTL}")
    )


def _first_work(tide: str, has_operator: bool) -> str:
    if not has_operator:
        run = "kubectl run hello --image=python --restart=Never -- python -c 'print(42)'"
        return _lines([run, "kubectl logs -f hello"])
    return "\nStart a training job, watch it until Ctrl-C, and resize it while it trains:\n\n" + _lines(
        [
            f"{tide} example mpijob | kubectl apply -f -",
            "kubectl get mpijob example -w",
            "kubectl scale mpijob example --replicas=3",
            "kubectl logs -f example-launcher",
        ]
    )


def _lines(commands: list[str]) -> str:
    return "".join(f"  {command}\n" for command in commands)


def how_to_stop(cluster: Chosen) -> str:
    return f"Stop it with: {cluster.command('down')}"


def already_up(cluster: Chosen) -> str:
    see = f"See it with: {cluster.command('status')}"
    return f"cluster {cluster.name!r} is up already\n{see}\n{how_to_stop(cluster)}"


def partly_deleted(cluster: Chosen) -> str:
    return (
        f"cluster {cluster.name!r} is partly deleted: its deletion is under way or was interrupted\n"
        f"Delete the rest of it, then start anew: {cluster.command('delete --cluster')}"
    )


def unusable_directory(why: str) -> str:
    return f"{why}\n{ADVICE}: {program()} up --data-dir DIR"


def explained(error: OSError, cluster: Chosen, port: int | None) -> str:
    path = cluster.place.path
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken: {_listener(port)}\nTake any that is free: {cluster.command('up --port 0')}"
    if error.errno == errno.EACCES and error.filename is None:
        return f"port {port} may only be used by root\nTake any that is free: {cluster.command('up --port 0')}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        elsewhere = f"choose a directory on another disk: {program()} up --data-dir DIR"
        return f"the disk that holds {path} is full\nFree some space, or {elsewhere}"
    if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
        return unusable_directory(
            f"files in {path} cannot be locked, as on some network file systems: {error.strerror}"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return unusable_directory(f"cannot write to {path}: {error.strerror}")
    return f"cannot start: {error}"


def _listener(port: int | None) -> str:
    """The process that listens on the port, as far as known."""
    for name in cluster_names():
        place = DataDir(clusters() / name)
        if (last := place.last()) and last.port == port and place.is_running():
            return f"the cluster {name!r} of yours listens on it"
    return "another program listens on it"


def lost(complaint: str, cluster: Chosen) -> str:
    """For a database that holds less than was acknowledged."""
    return (
        f"{complaint}\nNothing was started, and running pods were left alone. Choose one:\n"
        f"  put the lost file back, then: {cluster.command('up')}\n"
        "  start with what is left; objects changed since are lost, and pods without an object are ended:\n"
        f"    {cluster.command('up --accept-data-loss')}\n"
        f"  begin with an empty cluster in another directory: {program()} up --data-dir DIR"
    )


def unusable(complaint: str, cluster: Chosen) -> str:
    """For a database that cannot be opened or written."""
    if "disk is full" in complaint:
        return explained(OSError(errno.ENOSPC, complaint), cluster, None)
    if "damaged" not in complaint:
        return complaint
    database = shlex.quote(str(cluster.place.database))
    return f"{complaint}\nRestore a copy, or begin with an empty cluster: mv {database} {database}.damaged"
