# SPDX-License-Identifier: Apache-2.0
"""What `tide up` says when it succeeds and when it cannot, worded once for the foreground and the background."""

from __future__ import annotations

import errno
import shlex

from springtide.cli.merging import outdated
from springtide.cli.options import Chosen
from springtide.cli.places import user_kubeconfig


def next_steps(cluster: Chosen, port: int, *, has_nodes: bool) -> str:
    own, theirs = cluster.place.kubeconfig, user_kubeconfig()
    commands = [f"export KUBECONFIG={shlex.quote(str(own))}", f"kubectl get {'nodes' if has_nodes else 'namespaces'}"]
    if has_nodes:
        commands += [
            "kubectl run hello --image=python --restart=Never -- python -c 'print(42)'",
            "kubectl logs -f hello",
        ]
    what = f"Renew its entry in {theirs}" if outdated(theirs, own) else "Or add it to your own kubeconfig"
    return (
        f"Cluster {cluster.name!r} is up at https://127.0.0.1:{port}\n\n"
        + "".join(f"  {command}\n" for command in commands)
        + f"\n{what}: tide kubeconfig --merge{cluster.flags}"
    )


def already_up(cluster: Chosen) -> str:
    flags = cluster.flags
    return f"cluster {cluster.name!r} is up already\nSee it with: tide status{flags}\nStop it with: tide down{flags}"


def explained(error: OSError, cluster: Chosen, port: int | None) -> str:
    path = cluster.place.path
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken\nTake any that is free: tide up --port 0{cluster.flags}"
    if error.errno == errno.EACCES and error.filename is None:
        return f"port {port} may only be used by root\nTake any that is free: tide up --port 0{cluster.flags}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk that holds {path} is full\nFree some space, or choose another place: tide up --data-dir DIR"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return f"cannot write to {path}: {error.strerror}\nChoose another place: tide up --data-dir DIR"
    return f"cannot start: {error}"


def lost(complaint: str, cluster: Chosen) -> str:
    """For a database that holds less than was acknowledged."""
    return (
        f"{complaint}\nNothing was started, and running pods were left alone. Choose one:\n"
        f"  put the lost file back, then: tide up{cluster.flags}\n"
        "  go on with what is left; objects changed since are lost, and pods without an object are ended:\n"
        f"    tide up --accept-data-loss{cluster.flags}\n"
        "  begin with an empty cluster in another directory: tide up --data-dir DIR"
    )


def unusable(complaint: str, cluster: Chosen) -> str:
    """For a database that cannot be opened or written."""
    if "disk is full" in complaint:
        return explained(OSError(errno.ENOSPC, complaint), cluster, None)
    if "damaged" not in complaint:
        return complaint
    database = shlex.quote(str(cluster.place.database))
    return f"{complaint}\nRestore a copy, or begin with an empty cluster: mv {database} {database}.damaged"
