# SPDX-License-Identifier: Apache-2.0
"""The messages of `tide up` on success and failure, shared by the foreground and the background."""

from __future__ import annotations

import errno
import shlex
import shutil

from springtide.cli.cluster.data_directories import with_advice
from springtide.cli.cluster.merging import outdated
from springtide.cli.options import Chosen
from springtide.cli.places import cluster_names, clusters, program, user_kubeconfig
from springtide.local.datadir import DataDir
from springtide.messages import Text, text

KUBECTL = "https://kubernetes.io/docs/tasks/tools/"


def next_steps(cluster: Chosen, port: int, *, has_nodes: bool, has_operator: bool) -> Text:
    """Commands that work unchanged, in this order, in the shell that ran `tide up`."""
    own, theirs = cluster.place.kubeconfig, user_kubeconfig()
    commands = [f"export KUBECONFIG={shlex.quote(str(own))}", f"kubectl get {'nodes' if has_nodes else 'namespaces'}"]
    merge = text(
        "Renew its entry in {file}: {command}"
        if outdated(theirs, own)
        else "Or add it to your own kubeconfig: {command}",
        file=theirs,
        command=cluster.command("kubeconfig --merge"),
    )
    return text(
        "{up}\n\n{commands}{first_work}\n{merge}{lacking}",
        up=is_up(cluster, port),
        commands=_lines(commands),
        first_work=_first_work(program(), has_operator) if has_nodes else "",
        merge=merge,
        lacking="" if shutil.which("kubectl") else _lacks_kubectl(),
    )


def is_up(cluster: Chosen, port: int) -> Text:
    return text("Cluster {name!r} is up at {server}", name=cluster.name, server=f"https://127.0.0.1:{port}")


def _first_work(tide: str, has_operator: bool) -> str | Text:
    if not has_operator:
        run = "kubectl run hello --image=python --restart=Never -- python -c 'print(42)'"
        return _lines([run, "kubectl logs -f hello"])
    commands = [
        f"{tide} example mpijob | kubectl apply -f -",
        "kubectl get mpijob example -w",
        "kubectl scale mpijob example --replicas=3",
        "kubectl logs -f example-launcher",
    ]
    return text(
        "\nStart a training job, watch it until Ctrl-C, and resize it while it trains:\n\n{commands}",
        commands=_lines(commands),
    )


def _lacks_kubectl() -> Text:
    return text("\n\n! kubectl is not on the PATH. Install it: {url}", url=KUBECTL)


def _lines(commands: list[str]) -> str:
    return "".join(f"  {command}\n" for command in commands)


def how_to_stop(cluster: Chosen) -> Text:
    return text("Stop it with: {command}", command=cluster.command("down"))


def already_up(cluster: Chosen) -> Text:
    return text(
        "cluster {name!r} is up already\nSee it with: {see}\nStop it with: {stop}",
        name=cluster.name,
        see=cluster.command("status"),
        stop=cluster.command("down"),
    )


def partly_deleted(cluster: Chosen) -> Text:
    return text(
        "cluster {name!r} is partly deleted: its deletion is under way or was interrupted\n"
        "Delete the rest of it, then start anew: {command}",
        name=cluster.name,
        command=cluster.command("delete --cluster"),
    )


def unusable_directory(why: str | Text) -> Text:
    return with_advice(why, f"{program()} up --data-dir DIR")


def explained(error: OSError, cluster: Chosen, port: int | None) -> Text:
    path = cluster.place.path
    if error.errno == errno.EADDRINUSE:
        return text(
            "port {port} is taken: {listener}\nTake any that is free: {command}",
            port=port,
            listener=_listener(port),
            command=cluster.command("up --port 0"),
        )
    if error.errno == errno.EACCES and error.filename is None:
        command = cluster.command("up --port 0")
        return text(
            "port {port} may only be used by root\nTake any that is free: {command}", port=port, command=command
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return text(
            "the disk that holds {path} is full\nFree some space, or choose a directory on another disk: {command}",
            path=path,
            command=f"{program()} up --data-dir DIR",
        )
    if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
        return unusable_directory(
            text(
                "files in {path} cannot be locked, as on some network file systems: {why}",
                path=path,
                why=error.strerror,
            )
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return unusable_directory(text("cannot write to {path}: {why}", path=path, why=error.strerror))
    return text("cannot start: {why}", why=str(error))


def _listener(port: int | None) -> Text:
    """The process that listens on the port, as far as known."""
    for name in cluster_names():
        place = DataDir(clusters() / name)
        if (last := place.last()) and last.port == port and place.is_running():
            return text("the cluster {name!r} of yours listens on it", name=name)
    return text("another program listens on it")


def lost(complaint: str, cluster: Chosen) -> Text:
    """For a database that holds less than was acknowledged."""
    return text(
        "{complaint}\nNothing was started, and running pods were left alone. Choose one:\n"
        "  put the lost file back, then: {up}\n"
        "  start with what is left; objects changed since are lost, and pods without an object are ended:\n"
        "    {accept}\n"
        "  begin with an empty cluster in another directory: {elsewhere}",
        complaint=complaint,
        up=cluster.command("up"),
        accept=cluster.command("up --accept-data-loss"),
        elsewhere=f"{program()} up --data-dir DIR",
    )


def unusable(complaint: str, cluster: Chosen) -> Text:
    """For a database that cannot be opened or written."""
    if "disk is full" in complaint:
        return explained(OSError(errno.ENOSPC, complaint), cluster, None)
    if "damaged" not in complaint:
        return text("{complaint}", complaint=complaint)
    database = shlex.quote(str(cluster.place.database))
    return text(
        "{complaint}\nRestore a copy, or begin with an empty cluster: {command}",
        complaint=complaint,
        command=f"mv {database} {database}.damaged",
    )
