# SPDX-License-Identifier: Apache-2.0
"""The files that give a launcher its hosts: the host list in each form there is, and the way to a worker.

`discover_hosts.sh` always says slots, and fails rather than say nothing: Horovod crashes on either. `hosts_given.sh` is
asked by the init container that holds the launcher back, and knows for which pod the list is meant: the successor of
a launcher must not start on the hosts of its predecessor.

Whatever goes into a script is quoted, although names of pods need none: what a user writes is never run by a shell that
the user did not ask for.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

HOSTFILE = "hostfile"
DISCOVER = "discover_hosts.sh"
KUBEXEC = "kubexec.sh"
GIVEN = "hosts_given.sh"
_NO_KUBECTL = (
    "kubexec.sh: this launcher has no kubectl to reach its workers with. Use an image that has one, or start the "
    "operator with --kubectl-delivery-image"
)


def hostfile(hosts: Sequence[str], slots: int, between: str) -> str:
    """A line for every host; `between` stands before the number of slots."""
    return "".join(f"{host}{between}{slots}\n" for host in hosts)


def discover_hosts(hosts: Sequence[str], slots: int) -> str:
    lines = [f"echo {shlex.quote(f'{host}:{slots}')}" for host in hosts]
    return "\n".join(["#!/bin/sh", *(lines or ["exit 1"])]) + "\n"


def hosts_given(launcher: str) -> str:
    """Succeeds for the one launcher pod, named by its uid, that the list is for."""
    return f'#!/bin/sh\n[ "$1" = {shlex.quote(launcher or "nobody")} ]\n'


def kubexec(container: str) -> str:
    """Upstream's calling convention: a pod's name, and then words that are one command, which runs in this container or
    else in the pod's first. Where no kubectl was delivered the pod's own is used; a shell's own word on a missing one
    would not say what to do."""
    option = f" --container {shlex.quote(container)}" if container else ""
    lines = (
        "#!/bin/sh",
        "KUBECTL=/opt/kube/kubectl",
        '[ -x "$KUBECTL" ] || KUBECTL=kubectl',
        'if ! command -v "$KUBECTL" >/dev/null; then',
        f"  echo {shlex.quote(_NO_KUBECTL)} >&2",
        "  exit 127",
        "fi",
        "set -x",
        "POD_NAME=$1",
        "shift",
        f'"$KUBECTL" exec "$POD_NAME"{option} -- /bin/sh -c "$*"',
    )
    return "\n".join(lines) + "\n"
